// What a person does with the dashboard, from log-in to the last button, in a real browser. Settings and pictures:
// test/full/dashboard-settings.test.ts.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testModel } from './support/claude-home.ts'
import { beAlive } from './support/dashboard-demo.ts'
import { hasChromium, NativeTranscript, openDashboard } from './support/dashboard-house.ts'
import type { DashboardHouse } from './support/dashboard-house.ts'
import { find } from './support/dashboard-looks.ts'
import { inline } from './support/messages-api.ts'
import type { ApiRequest } from './support/messages-api.ts'

let house: DashboardHouse

beforeAll(async () => {
  if (!hasChromium) return
  house = await openDashboard({
    config: { coding: { defaultModel: testModel, maxSessions: 20, perRepo: { running: 3 } } },
  })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(async () => {
  await house?.close()
})

/** A coding session in a repository of its own. */
async function launch(prompt: string, name: string): Promise<{ id: string; workdir: string }> {
  const workdir = join(house.home.root, name)
  mkdirSync(workdir, { recursive: true })
  return house.call('coding.launch', { prompt, name, workdir, fresh: true, originChannel: 'web|dashboard' })
}
const row = (page: Page, name: string) => page.locator('.row', { hasText: name })

describe('the way in', () => {
  test('a link from the terminal logs in once; its code is gone from the address', async () => {
    const { url } = await house.call<{ url: string }>('dashboard.code')
    const first = await (await house.browser.newContext()).newPage()
    await first.goto(url)
    await first.getByRole('navigation', { name: 'Views' }).waitFor()
    expect(first.url()).toBe(`${house.url()}/`)
    const second = await (await house.browser.newContext()).newPage()
    await second.goto(url)
    await second.getByText('wrong, expired or was used').waitFor()
    await first.context().close()
    await second.context().close()
  })

  test('without a cookie the page asks for a code or the token; after logging out, it asks again', async () => {
    const page = await (await house.browser.newContext()).newPage()
    await page.goto(`${house.url()}/cost`)
    await page.getByText('rockpool dashboard').waitFor()
    const secret = page.getByLabel("code, or the gateway's token")
    await secret.fill('wrong-code')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('wrong, expired or was used').waitFor()
    await secret.fill(readFileSync(join(house.home.stateDir, 'credentials/gateway-token'), 'utf8'))
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.getByRole('link', { name: 'Inbox' }).click()
    await page.getByText('No sessions yet').waitFor()
    await find(page, 'log out')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await page.context().close()
  })

  test('who logs out leaves no notification in the browser, and the browser gets no more', async () => {
    const keys = { p256dh: 'unused', auth: 'unused' }
    const { device } = await house.call<{ device: { id: string } }>('devices.add', {
      url: 'https://push.invalid/borrowed',
      keys,
    })
    const { url } = await house.call<{ url: string }>('dashboard.code')
    const context = await house.browser.newContext()
    await context.grantPermissions(['notifications'], { origin: house.url() })
    const page = await context.newPage()
    await page.goto(url)
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.evaluate((id) => localStorage.setItem('rockpool-device', id), device.id)
    await page.evaluate(
      'navigator.serviceWorker.ready.then((all) => all.showNotification("asker wants to run a command"))',
    )
    await find(page, 'log out')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    const shown =
      'navigator.serviceWorker.ready.then((all) => all.getNotifications()).then(({ length }) => length)'
    expect(await page.evaluate(shown)).toBe(0)
    const { devices } = await house.call<{ devices: Array<{ id: string }> }>('devices.list')
    expect(devices.map(({ id }) => id)).not.toContain(device.id)
    await context.close()
  })

  test('who logs out while the gateway does not answer is logged out when it answers again', async () => {
    const { url } = await house.call<{ url: string }>('dashboard.code')
    const page = await (await house.browser.newContext()).newPage()
    await page.goto(url)
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.route('**/logout', (route) => route.abort())
    await find(page, 'log out')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await page.evaluate(() => localStorage.getItem('rockpool-page-key'))).toBeNull()
    await page.context().close()
  })
})

test('a native session appears while it runs, and its new lines are shown as they are written', async () => {
  const page = await house.open()
  const native = new NativeTranscript(house.home, '/srv/tidepool', '11111111-2222-4333-8444-555555555555')
  native.prompt('Count the sea stars')
  native.answer('There are **five**.')
  await row(page, 'Count the sea stars').waitFor()
  await row(page, 'Count the sea stars').getByRole('link').click()
  expect(await page.title()).toMatch(/Count the sea stars · Rockpool$/)
  await page.locator('.markdown strong', { hasText: 'five' }).waitFor()
  native.prompt('And the crabs?')
  native.answer('Seven crabs.')
  await page.getByText('Seven crabs.').waitFor()
  // A sub-agent is there as soon as it begins, and what it says is seen while it says it.
  beAlive(house.home, native.sessionId, process.pid, { status: 'busy' })
  native.answer([{ type: 'tool_use', id: 'deep', name: 'Agent', input: { description: 'Dive for crabs' } }])
  const note = { agentType: 'diver', description: 'Dive for crabs', toolUseId: 'deep' }
  const diver = native.subagent('d1ver', note)
  diver.prompt('Dive')
  await page.getByRole('link', { name: 'Files', exact: true }).click()
  await page.getByRole('link', { name: 'Dive for crabs' }).click()
  const about = page.locator('.session-head')
  await about.getByText('working').waitFor()
  diver.answer('Nine of them are under the stone.')
  await page.locator('.card.answer', { hasText: 'under the stone' }).waitFor()
  diver.note({ ...note, finished: true })
  diver.answer('Up again.')
  await about.getByText('ended').waitFor()
  await page.context().close()
})

/** Runs in the page: it is not looked at, and what it tells is written down. */
const noteNotifications = `
  const told = (globalThis.told = [])
  Object.defineProperty(document, 'hidden', { get: () => true })
  globalThis.Notification = class extends Notification {
    constructor(title, options) {
      super(title, options)
      told.push(title + ': ' + options.body)
    }
  }`

test('a command of the real Claude is shown everywhere in full, approved, and then runs', async () => {
  const page = await house.open('/cost')
  await page.context().grantPermissions(['notifications'])
  await page.addInitScript(noteNotifications)
  await page.reload()
  // T138: a character that turns the direction of writing hides nothing, and none is unseen.
  const command = `python3 -c "open('approved','w')" # waits for input (x) \u202eevas\u{e0072}\u00ad\u3164`
  const script = inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'made it' })
  const { workdir } = await launch(script, 'approve-me')
  await page.getByRole('status', { name: 'Notices' }).getByText('wants to run a command').waitFor()
  await expect
    .poll(() => page.evaluate<string[]>('told'), { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^approve-me needs you: .*python3/))
  expect(await page.title()).toMatch(/^\(\d+\) Cost · Rockpool$/)
  // One that runs in a terminal calls as well.
  const native = new NativeTranscript(house.home, '/srv/quay', '99999999-2222-4333-8444-555555555555')
  native.prompt('Mend the quay')
  beAlive(house.home, native.sessionId, process.pid, { status: 'waiting', waitingFor: 'a plank' })
  await expect
    .poll(() => page.evaluate<string[]>('told'), { timeout: 20_000 })
    .toContainEqual('Mend the quay needs you: a plank')
  const chat = await house.open('/chat')
  await chat
    .locator('.card.received', { hasText: "open('approved','w')" })
    .getByText('waits for input (x)')
    .waitFor()
  await chat.context().close()
  await page.getByRole('link', { name: 'Inbox' }).click()
  await row(page, 'approve-me').getByRole('link').click()
  await page.getByText('waits for you').waitFor()
  const seen = String.raw`open('approved','w')" # waits for input (x) \u202eevas\u{e0072}\u00ad\u3164`
  await page.locator('.asked', { hasText: seen }).waitFor()
  expect(await page.locator('.asked').textContent()).not.toContain('\u202e')
  await page.getByRole('button', { name: 'Allow once' }).click()
  await expect.poll(() => existsSync(join(workdir, 'approved')), { timeout: 20_000 }).toBe(true)
  await page.locator('.card.answer', { hasText: 'made it' }).waitFor()
  await row(page, 'approve-me').getByText('made it').first().waitFor()
  await page.context().close()
})

test('a long command is allowed only after its end was on the screen, alone and together with others', async () => {
  // `echo` 59 times, and then the command that matters.
  const parts = Array.from({ length: 59 }, (_, i) => `echo ${'shell '.repeat(4)}${i}`)
  const command = [...parts, `python3 -c "open('end','w')"`].join(' && ')
  const ask = inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'made it' })
  const { workdir } = await launch(ask, 'long-one')
  const other = await launch(ask, 'long-two')
  const made = (directory: string): boolean => existsSync(join(directory, 'end'))
  const phone = await house.open('/', { viewport: { width: 390, height: 844 } })
  const decision = row(phone, 'long-one').getByRole('region', { name: 'Decision' })
  await decision.getByText('Read it to the end to allow it.').waitFor()
  const allow = decision.getByRole('button', { name: 'Allow once' })
  // Time in which the button would become enabled.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(await allow.isEnabled()).toBe(false)
  expect(await decision.getByLabel('Which rule').isEnabled()).toBe(false)
  // No rule covers several commands in one.
  const offered = await decision.getByLabel('Which rule').locator('option').allTextContents()
  expect(offered).toEqual(['add no rule', 'always exactly this, in this session'])
  expect(await decision.getByRole('button', { name: 'Deny' }).isEnabled()).toBe(true)
  expect(await allow.getAttribute('aria-describedby')).toBe(
    await decision.getByText('Read it to the end to allow it.').getAttribute('id'),
  )
  // The keyboard reaches the end as well.
  await decision.getByRole('group', { name: 'Request' }).press('End')
  await expect.poll(() => allow.isEnabled()).toBe(true)
  expect(await decision.getByText('Read it to the end').count()).toBe(0)
  await allow.click()
  await expect.poll(() => made(workdir), { timeout: 20_000 }).toBe(true)
  await phone.context().close()
  const page = await house.open('/#q=long-two')
  await page.getByLabel('Select long-two').check()
  const bulk = page.getByRole('group', { name: 'Selected sessions' })
  await bulk.getByText('Allow 1…').click()
  await bulk.getByText('Read it to the end to allow these.').waitFor()
  const these = bulk.getByRole('button', { name: 'Allow these 1' })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(await these.isEnabled()).toBe(false)
  const showMore = (): Promise<void> =>
    bulk.getByRole('button', { name: 'Show more' }).evaluateAll((all) => all.forEach((one) => one.click()))
  await expect.poll(() => showMore().then(() => these.isEnabled())).toBe(true)
  await these.click()
  await expect.poll(() => made(other.workdir), { timeout: 20_000 }).toBe(true)
  await page.context().close()
})

/** Runs in the page: the second click of a person who clicks twice, when the next request has just taken the place of the first. */
const clickWhenReplaced = `
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.asked')?.textContent.includes('second')) return
    observer.disconnect()
    document.querySelector('.decision button.primary').click()
    globalThis.clicked = true
  }).observe(document.body, { subtree: true, childList: true, characterData: true })`

test('a second click on Allow does not allow the request that has just taken the place of the first', async () => {
  const touch = (name: string) => ({
    tools: [{ name: 'Bash', input: { command: `python3 -c "open('${name}','w')"` } }],
  })
  const { workdir } = await launch(
    inline(touch('first'), touch('second'), { text: 'both are there' }),
    'twice',
  )
  const made = (name: string): boolean => existsSync(join(workdir, name))
  const page = await house.open()
  await row(page, 'twice').getByRole('link').click()
  await page.locator('.asked', { hasText: 'first' }).waitFor()
  await page.evaluate(clickWhenReplaced)
  await page.getByRole('button', { name: 'Allow once' }).click()
  await expect.poll(() => page.evaluate('clicked'), { timeout: 20_000 }).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect([made('first'), made('second')]).toEqual([true, false])
  await page.getByRole('button', { name: 'Allow once' }).click()
  await expect.poll(() => made('second'), { timeout: 20_000 }).toBe(true)
  await page.context().close()
})

test('"Allow these" allows what was read, and not a request that came after the list was opened', async () => {
  const touch = (name: string) => ({
    tools: [{ name: 'Bash', input: { command: `python3 -c "open('made','w')" # ${name}` } }],
  })
  const early = await launch(inline(touch('read-early'), { text: 'made it' }), 'read-early')
  const late = await launch(inline({ ...touch('read-late'), hold: 'late' }, { text: 'made it' }), 'read-late')
  const made = ({ workdir }: { workdir: string }): boolean => existsSync(join(workdir, 'made'))
  const page = await house.open('/#q=read-')
  await page.locator('.row.needs-you', { hasText: 'read-early' }).waitFor()
  for (const name of ['read-early', 'read-late']) await page.getByLabel(`Select ${name}`).check()
  const bulk = page.getByRole('group', { name: 'Selected sessions' })
  await bulk.getByText('Allow 1…').click()
  await bulk.getByText('# read-early').waitFor()
  house.api.release('late')
  await bulk.getByText('Allow 2…').waitFor()
  // The page has had time to draw a button for both.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  await bulk.getByRole('button', { name: 'Allow these' }).click()
  await expect.poll(() => made(early), { timeout: 20_000 }).toBe(true)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(made(late)).toBe(false)
  await bulk.getByRole('button', { name: 'Show 1 more' }).click()
  await bulk.getByText('# read-late').waitFor()
  await bulk.getByRole('button', { name: 'Allow these 1' }).click()
  await expect.poll(() => made(late), { timeout: 20_000 }).toBe(true)
  await page.context().close()
})

test('a question of Claude is answered by its number, for all sessions that ask the same', async () => {
  const page = await house.open()
  const options = [
    { label: 'Red', description: 'like a starfish' },
    { label: 'Blue', description: 'like the sea' },
  ]
  const ask = (question: string): object => ({
    tools: [
      {
        name: 'AskUserQuestion',
        input: { questions: [{ question, header: 'Color', multiSelect: false, options }] },
      },
    ],
  })
  const script = inline(ask('Which color?'), ask('And the door?'), { text: 'thanks' })
  await Promise.all(['ask-one', 'ask-two'].map((name) => launch(script, name)))
  await row(page, 'ask-one').getByRole('link').click()
  await page.locator('.asked', { hasText: 'Which color?' }).waitFor()
  // A choice is not sent yet; a person may choose another one.
  const send = page.getByRole('region', { name: 'Decision' }).getByRole('button', { name: /^Answer a$/ })
  expect(await send.isEnabled()).toBe(false)
  await page.getByRole('button', { name: '1 Red like a starfish' }).click()
  await expect.poll(() => send.isEnabled()).toBe(true)
  const blue = page.getByRole('button', { name: '2 Blue like the sea' })
  await blue.click()
  await expect.poll(() => blue.getAttribute('aria-pressed')).toBe('true')
  await page.getByRole('button', { name: 'Answer all 2 that ask the same' }).click()
  const answered = (request: ApiRequest): boolean =>
    JSON.stringify(request.body.messages?.at(-1)).includes('tool_result') &&
    JSON.stringify(request.body.messages?.at(-1)).includes('Blue')
  await house.api.requested(answered)
  await expect.poll(() => house.api.calls().filter(answered).length, { timeout: 20_000 }).toBe(2)
  // The next question is answered by its number's key and Enter, once a person can have seen it.
  await page.locator('.asked', { hasText: 'And the door?' }).waitFor()
  await expect.poll(() => page.getByRole('button', { name: '1 Red like a starfish' }).isEnabled()).toBe(true)
  await page.getByRole('heading', { name: 'Inbox' }).click()
  await page.keyboard.press('2')
  await page.keyboard.press('1')
  await expect
    .poll(() => page.getByRole('button', { name: '1 Red like a starfish' }).getAttribute('aria-pressed'))
    .toBe('true')
  await page.keyboard.press('Enter')
  await house.api.requested(
    (request) =>
      JSON.stringify(request.body.messages?.at(-1)).includes('tool_result') &&
      JSON.stringify(request.body.messages?.at(-1)).includes('Red'),
  )
  await row(page, 'ask-one').getByText('thanks').first().waitFor()
  await page.context().close()
})

test('on a phone each decision is a card: an edit is seen as it will happen and allowed, a command is denied with a reason', async () => {
  const page = await house.open('/', {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  const file = join(house.home.root, 'phone-edit', 'pool.txt')
  mkdirSync(join(house.home.root, 'phone-edit'), { recursive: true })
  writeFileSync(file, 'one crab\n')
  const edit = { file_path: file, old_string: 'one crab', new_string: 'two crabs' }
  const read = { name: 'Read', input: { file_path: file } }
  await launch(
    inline({ tools: [read] }, { tools: [{ name: 'Edit', input: edit }] }, { text: 'edited' }),
    'phone-edit',
  )
  const push = { name: 'Bash', input: { command: 'git push --force', description: 'Push what I have' } }
  await launch(inline({ tools: [push] }, { text: 'left it' }), 'phone-push')
  const card = (name: string) => page.locator('.row', { hasText: name })
  await card('phone-edit').getByRole('heading', { name: 'Wants to edit pool.txt' }).waitFor()
  expect(await card('phone-edit').locator('del').textContent()).toContain('- one crab')
  expect(await card('phone-edit').locator('ins').textContent()).toContain('+ two crabs')
  const allow = card('phone-edit').getByRole('button', { name: 'Allow once' })
  expect((await allow.boundingBox())!.height).toBeGreaterThanOrEqual(44)
  // An answer may add a rule; the button says so.
  await card('phone-edit').getByLabel('Which rule').selectOption('edits in this repository, in this session')
  await card('phone-edit').getByRole('button', { name: 'Allow and add the rule' }).tap()
  await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 20_000 }).toBe('two crabs\n')
  await card('phone-push').getByText('Push what I have', { exact: true }).waitFor()
  await card('phone-push').getByLabel('Note to Claude (optional)').fill('not on main')
  await card('phone-push').getByRole('button', { name: 'Deny' }).tap()
  await house.api.requested(({ text }) => text.includes('A person said no') && text.includes('not on main'))
  // What was decided is seen in the session; ending it asks first.
  await page.getByRole('link', { name: 'All', exact: true }).tap()
  await card('phone-push').getByRole('link').tap()
  await page.locator('.card.tool.denied').waitFor()
  await page.getByRole('button', { name: 'End…' }).tap()
  await page.getByRole('button', { name: 'Keep it running' }).tap()
  await page.getByRole('button', { name: 'End…' }).tap()
  await page.getByRole('button', { name: 'End it' }).tap()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  await page.getByRole('link', { name: 'Back to the list' }).tap()
  await page.waitForURL(`${house.url()}/all`)
  await page.context().close()
})

describe('a task', () => {
  let page: Page
  beforeAll(async () => {
    if (!hasChromium) return
    house.api.script('remember the heron', [{ text: 'I remember the heron.' }])
    house.api.script('remember the gull', [{ text: 'I remember', hangAfter: 1 }])
    house.api.script('from the heron on', [{ text: 'Forked.' }])
    page = await house.open('/new')
  })
  afterAll(() => page?.context().close())
  const state = (word: string) => page.locator('.session-head .chip', { hasText: word })

  test('is typed without a click, the button says what it will do, and one key launches that', async () => {
    await page.getByLabel('What should be done?').waitFor()
    await page.keyboard.type('remember the heron')
    await page.getByLabel('Repository', { exact: true }).fill(house.home.project)
    await page.getByRole('region', { name: 'Selection' }).waitFor()
    await page.getByRole('button', { name: 'Start a new session' }).waitFor()
    await page.getByLabel('What should be done?').press('Control+Enter')
    await page.waitForURL(/\/coding\//)
    await page.getByText('I remember the heron.').first().waitFor()
  })

  test('is interrupted from the page; the session stays and waits for the next word', async () => {
    await state('ready').waitFor()
    await page.getByLabel(/^Message to /).fill('remember the gull')
    await page.keyboard.press('Enter')
    // The answer is on the screen while it is written, with the time that it takes.
    await page.locator('.card.answer', { hasText: 'I remember' }).last().waitFor()
    await page
      .getByRole('status')
      .getByText(/^\d+:\d\d$/)
      .waitFor()
    await page.getByRole('button', { name: 'Interrupt' }).click()
    await state('idle').waitFor()
  })

  test('is forked at the message that was chosen, and the original stays as it is', async () => {
    const original = page.url()
    await page.locator('.card.prompt', { hasText: 'remember the gull' }).waitFor()
    await page
      .locator('.card.answer', { hasText: 'heron' })
      .getByRole('button', { name: 'Fork from here' })
      .click()
    // One click spends nothing: it opens a field.
    expect(page.url()).toBe(original)
    await page.getByLabel('First message of the fork').fill('from the heron on')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.href !== original)
    const forked = await house.api.requested((request) => request.prompt.includes('from the heron on'))
    expect(forked.text).toContain('I remember the heron.')
    expect(forked.text).not.toContain('the gull')
    // What it changed is there to review.
    await page.getByRole('link', { name: 'Diff' }).click()
    await page.getByRole('region', { name: 'Changes' }).waitFor()
  })
})

test('cost changes while one looks', async () => {
  const page = await house.open('/cost')
  const total = page.locator('.tiles div', { hasText: 'Total' }).locator('dd')
  await total.waitFor()
  const before = await total.textContent()
  const native = new NativeTranscript(house.home, '/srv/dear', '22222222-2222-4333-8444-555555555555')
  native.prompt('Think hard')
  native.answer('Thought.', { output_tokens: 100_000 })
  await expect.poll(() => total.textContent(), { timeout: 20_000 }).not.toBe(before)
  await page.context().close()
})

/** Lets a file fall onto the place where one writes. */
async function drop(page: Page, name: string, text: string): Promise<void> {
  const file = `new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/plain' })`
  const carried = await page.evaluateHandle(
    `(() => { const transfer = new DataTransfer(); transfer.items.add(${file}); return transfer })()`,
  )
  await page.locator('form.say').dispatchEvent('drop', { dataTransfer: carried })
}

test('a file dropped into the chat reaches the agent with the words; its answer is seen as it comes', async () => {
  house.api.script('what does the table say', [{ text: 'Low tide at **six**, <b>not bold</b>.' }])
  const page = await house.open('/chat')
  // Larger than one piece, so that it has to be put together again.
  const table = `${'high, low\n'.repeat(60_000)}the last line of the table`
  await drop(page, 'tide-table.txt', table)
  await page.getByRole('list', { name: 'Files to send' }).getByText('tide-table.txt').waitFor()
  await page.getByLabel('Message').fill('what does the table say')
  await page.keyboard.press('Enter')
  await page.locator('.markdown strong', { hasText: 'six' }).waitFor()
  expect(await page.locator('.markdown b').count()).toBe(0)
  const asked = await house.api.requested(({ prompt }) => prompt.includes('what does the table say'))
  const path = /Attached \w+: tide-table\.txt at (\S+\.txt)/.exec(asked.prompt)?.[1]
  expect(path, asked.prompt).toBeDefined()
  const workspace = join(house.home.stateDir, 'agents/main/workspace')
  expect(readFileSync(resolve(workspace, path!), 'utf8')).toBe(table)
  await page.locator('.talks a[aria-current]').getByText('Low tide at').waitFor()
  // It is found in the chat, not in Claude's copy of it, and opens at its place.
  await expect
    .poll(() => house.call('sessions.search', { query: 'tide', source: 'rockpool' }), { timeout: 20_000 })
    .toMatchObject({ hits: [{ snippet: expect.stringContaining('six') as string }] })
  await find(page, 'low tide')
  await page.getByRole('option', { name: /Low tide at/ }).click()
  await page.waitForURL(/\/chat\/agent%3Amain[^/]+\/\w{8}#mark=low\+tide$/)
  await page.locator('.card.target', { hasText: 'Low tide at six' }).waitFor()
  await page.locator('.card.target mark', { hasText: 'Low tide' }).waitFor()
  // What is said is seen while it is said, and can be stopped.
  house.api.script('count slowly', [{ text: 'One, two, three, four', chunkSize: 5, hangAfter: 2 }])
  await page.getByLabel('Message').fill('count slowly')
  await page.keyboard.press('Enter')
  await page.locator('.answer', { hasText: 'One, two' }).waitFor()
  const sessionKey = decodeURIComponent(new URL(page.url()).pathname.split('/')[2]!)
  await house.call('turns.send', { message: 'and a question of a program', sessionKey })
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped, and dropped 1 message that waited for an answer').waitFor()
  await expect
    .poll(() => page.getByRole('button', { name: 'Stop' }).isDisabled(), { timeout: 20_000 })
    .toBe(true)
  await page.context().close()
})

test('when the gateway restarts, pages say so, come back by themselves and have caught up', async () => {
  house.api.script('do you remember', [{ text: 'You asked about the table.' }])
  const [page, chat] = await Promise.all([house.open(), house.open('/chat')])
  await page.evaluate('navigator.serviceWorker.ready.then(() => 0)')
  await house.stop()
  await page.getByText('The gateway is not reachable').waitFor()
  // A reload finds the page itself, which says what to do; nothing but the page is kept.
  await page.reload()
  await page.getByRole('heading', { name: 'The gateway is not reachable' }).waitFor()
  await page.getByText('rockpool doctor').waitFor()
  const kept = await page.evaluate<string[]>(
    "caches.open('rockpool-shell').then((c) => c.keys()).then((all) => all.map((one) => new URL(one.url).pathname))",
  )
  const notOfThePage = kept.filter(
    (path) => !/^\/(assets\/[\w.-]+|icon\.svg|rockpool\.webmanifest)?$/.test(path),
  )
  expect(notOfThePage).toEqual([])
  expect(kept).toEqual(expect.arrayContaining(['/', '/icon.svg']))
  const native = new NativeTranscript(house.home, '/srv/away', '33333333-2222-4333-8444-555555555555')
  native.prompt('Written while it was away')
  native.answer('Yes.')
  await house.start()
  await row(page, 'Written while it was away').waitFor()
  expect(await page.getByText('The gateway is not reachable').count()).toBe(0)
  await chat.locator('.markdown strong', { hasText: 'six' }).waitFor()
  await chat.getByLabel('Message', { exact: true }).fill('do you remember?')
  await chat.keyboard.press('Enter')
  await chat.locator('.answer', { hasText: 'You asked about the table.' }).waitFor()
  const asked = await house.api.requested(({ prompt }) => prompt.includes('do you remember'))
  expect(asked.text).toContain('Low tide at **six**')
  await page.context().close()
  await chat.context().close()
})
