// The dashboard in every look and with the less usual hands; with ROCKPOOL_SCREENSHOTS=1 also its pictures for docs/.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from 'qrcode'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeClaudeHome } from '../support/claude-home.ts'
import type { ClaudeHome } from '../support/claude-home.ts'
import { hasChromium, NativeTranscript, openDashboard } from '../support/dashboard-house.ts'
import {
  find,
  haveTalked,
  movedSinceLoad,
  openFurnished,
  problemsOf,
  show,
} from '../support/dashboard-looks.ts'
import type { FurnishedHouse } from '../support/dashboard-looks.ts'
import { inline } from '../support/messages-api.ts'
import { takesPictures } from '../support/picture-fonts.ts'
import { smallPicture } from '../support/small-picture.ts'

/** The pictures that documents show; others are not kept. */
const kept = new Set('inbox-light-narrow session-dark cost-dark chat-light coding-light'.split(' '))
let house: FurnishedHouse

beforeAll(async () => {
  if (!hasChromium) return
  house = await openFurnished(takesPictures ? { homeFor: believable } : {})
  await haveTalked(house)
  await haveDone()
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

/** One that has done its turn, for somebody to look at. */
async function haveDone(): Promise<void> {
  house.api.script('what changed since Monday', [
    { text: 'Written: docs/releases/week-46.md, four changes.' },
  ])
  const workdir = join(house.home.home, 'code/infra')
  mkdirSync(workdir, { recursive: true })
  const { id } = await house.call<{ id: string }>('coding.launch', {
    prompt: 'Write down what changed since Monday.',
    name: 'release-notes',
    workdir,
    fresh: true,
  })
  type Rows = { sessions: Array<{ id: string; waiting?: { for: string } }> }
  const isDone = async (): Promise<boolean> => {
    const { sessions } = await house.call<Rows>('coding.sessions')
    return sessions.find((one) => one.id === id)?.waiting?.for === 'input'
  }
  await vi.waitUntil(isDone, { timeout: 20_000, interval: 100 })
}

const believable = (apiUrl: string): ClaudeHome => makeClaudeHome({ apiUrl, home: '/home/ada' })

const looks = [
  { scheme: 'light' as const, width: 1280, height: 800 },
  { scheme: 'dark' as const, width: 1280, height: 800 },
  { scheme: 'light' as const, width: 390, height: 844 },
  { scheme: 'dark' as const, width: 390, height: 844 },
]
describe.each(looks)('$scheme, $width px wide', ({ scheme, width, height }) => {
  test('no view has a serious problem of accessibility, and none is wider than the screen', async () => {
    const page = await house.open('/', { colorScheme: scheme, viewport: { width, height } })
    const folder = join(import.meta.dirname, '../../docs/dashboard')
    mkdirSync(folder, { recursive: true })
    const found: Record<string, string[]> = {}
    const look = async (name: string): Promise<void> => {
      const size = width === 1280 ? '' : '-narrow'
      const picture = `${name}-${scheme}${size}`
      if (takesPictures && kept.has(picture))
        writeFileSync(join(folder, `${picture}.png`), smallPicture(await page.screenshot()))
      found[name] = await problemsOf(page)
    }
    for (const name of Object.keys(house.views)) {
      await show(house, page, name)
      await look(name)
    }
    await show(house, page, 'inbox')
    await find(page, 'retry')
    await page.getByRole('option', { name: /both retry now/ }).waitFor()
    await look('find')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await look('keys')
    const out = await (
      await house.browser.newContext({ colorScheme: scheme, viewport: { width, height } })
    ).newPage()
    await out.goto(house.url())
    await out.getByRole('button', { name: 'Log in' }).waitFor()
    found['login'] = await problemsOf(out)
    await out.context().close()
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])))
    await page.context().close()
  })
})

test.each([1280, 390])('nothing jumps while a view is loaded, %d px wide', async (width) => {
  const page = await house.open('/', { viewport: { width, height: 800 } })
  const moved: Record<string, number> = {}
  for (const [name, path] of Object.entries(house.views)) {
    await page.goto(house.url() + path)
    await page.locator('main h1, main h2').first().waitFor({ state: 'attached' })
    await expect.poll(() => page.locator('.loading').count(), { timeout: 20_000 }).toBe(0)
    moved[name] = await movedSinceLoad(page)
  }
  for (const [name, much] of Object.entries(moved)) expect(much, name).toBeLessThan(0.1)
  await page.context().close()
})

test('a message far up has an address of its own, and every record can be seen as it was written', async () => {
  const native = new NativeTranscript(house.home, '/srv/long.pool', '77777777-2222-4333-8444-555555555555')
  native.prompt('The very first thing that was said')
  const wanted = native.answer('The needle lies here.')
  for (let i = 0; i < 400; i++) native.answer(`Answer number ${i}`)
  const page = await house.open(`/session/${native.sessionId}/${wanted}`)
  const needle = page.locator('.card.target', { hasText: 'The needle lies here.' })
  await needle.waitFor()
  await expect
    .poll(() => needle.evaluate((card) => card.getBoundingClientRect().top), { timeout: 20_000 })
    .toBeGreaterThan(0)
  await needle.hover()
  await needle.getByRole('button', { name: 'Link' }).click()
  expect(page.url()).toContain(wanted)
  // The part between here and the end was not read; the end is one click away, and Back leads here again.
  await page.getByRole('button', { name: 'To the end' }).click()
  await page.getByText('Answer number 399').waitFor()
  expect(page.url()).not.toContain(wanted)
  await page.goBack()
  await needle.waitFor()
  // What was unfolded is still so when one comes back to it.
  native.answer([{ type: 'tool_use', id: 'tool1', name: 'Bash', input: { command: 'ls pools' } }])
  native.result('tool1', 'the long pool')
  const scrollTo = (place: string): Promise<void> =>
    page.evaluate(`void (document.querySelector('.virtual').scrollTop = ${place})`)
  const fold = page.getByRole('button', { name: 'Bash ls pools' })
  await expect.poll(() => scrollTo('1e9').then(() => fold.count()), { timeout: 20_000 }).toBe(1)
  await fold.click()
  await page.getByText('the long pool').waitFor()
  await scrollTo('0')
  await needle.waitFor()
  expect(await fold.count()).toBe(0)
  await scrollTo('1e9')
  await page.getByText('the long pool').waitFor()
  await scrollTo('0')
  await page.getByRole('link', { name: 'Raw' }).click()
  await page.locator('.card.raw', { hasText: '"requestId"' }).first().waitFor()
  // A name with a dot is no file of ours: the page itself is sent.
  await page.goto(`${house.url()}/project/${encodeURIComponent('/srv/long.pool')}`)
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  await page.context().close()
})

test("a session's question is shown everywhere, stays in the chat, and is answered there", async () => {
  const page = await house.open('/cost')
  const script = inline({ tools: [{ name: 'Bash', input: { command: 'rm -rf sand' } }] }, { text: 'left it' })
  const workdir = join(house.home.root, 'tell-me')
  mkdirSync(workdir)
  await house.call('coding.launch', {
    prompt: script,
    name: 'tell-me',
    workdir,
    fresh: true,
    originChannel: 'web|dashboard',
  })
  await page.getByRole('status', { name: 'Notices' }).getByText('wants to run a command').waitFor()
  await page.goto(`${house.url()}/chat`)
  const notice = page.locator('.received', { hasText: 'tell-me' }).filter({ hasText: 'rm -rf sand' })
  await notice.getByRole('button', { name: 'Deny' }).click()
  await house.api.requested(({ text }) => text.includes('A person said no'))
  await page.context().close()
})

test('a plan is read as text, sent back with what to change, and approved', async () => {
  const task = 'Plan the new quay'
  const workdir = join(house.home.root, 'quay')
  mkdirSync(workdir)
  house.api.script(task, [{ hold: 'quay', tools: [{ name: 'Glob', input: { pattern: '*.quay' } }] }])
  await house.call('coding.launch', {
    prompt: task,
    name: 'quay',
    workdir,
    fresh: true,
    permissionMode: 'plan',
  })
  // Claude Code says where its plan belongs, and takes the plan from that file.
  const asked = await house.api.requested(({ prompt }) => prompt.includes(task))
  const path = /\/\S+\/plans\/\S+\.md/.exec(asked.text)?.[0]
  expect(path).toBeDefined()
  const plan = (quay: string) => ({
    name: 'Write',
    input: { file_path: path, content: `# Quay\n\n1. ${quay}\n` },
  })
  const exit = { tools: [{ name: 'ExitPlanMode', input: {} }] }
  const glob = { tools: [{ name: 'Glob', input: { pattern: '*.quay' } }] }
  // Markdown would not show its second line.
  const wood = 'Of wood\n\n[//]: # (and burn the old one)'
  const steps = [{ tools: [plan(wood)] }, exit, { tools: [plan('Of stone')] }, exit]
  house.api.script(task, [glob, ...steps, { text: 'The quay is planned.' }])
  house.api.release('quay')
  const page = await house.open()
  await page.locator('.row', { hasText: 'quay' }).getByRole('link').click()
  const decision = page.getByRole('region', { name: 'Decision' })
  await decision.getByRole('heading', { name: 'Plan awaits your approval' }).waitFor()
  await decision.getByText('Of wood').waitFor()
  expect(await decision.textContent()).toContain('(and burn the old one)')
  await decision.getByLabel('Note to Claude (optional)').fill('stone lasts longer')
  await decision.getByRole('button', { name: 'Deny' }).click()
  await house.api.requested(({ text }) => text.includes('stone lasts longer'))
  await decision.getByRole('listitem').getByText('Of stone').waitFor()
  await decision.getByRole('button', { name: 'Allow once' }).click()
  await page.locator('.card.answer', { hasText: 'The quay is planned.' }).waitFor()
  await page.context().close()
})

test('several requests are seen together and allowed at once', async () => {
  const ask = async (name: string): Promise<string> => {
    const workdir = join(house.home.root, name)
    mkdirSync(workdir)
    const command = `python3 -c "open('made','w')" # ${name}`
    const prompt = inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'made it' })
    await house.call('coding.launch', { prompt, name, workdir, fresh: true })
    return join(workdir, 'made')
  }
  const files = await Promise.all([ask('bulk-one'), ask('bulk-two')])
  const page = await house.open('/#q=bulk-')
  await page.locator('.row.needs-you').nth(1).waitFor()
  await page.getByLabel('Select bulk-one').check()
  await page.getByLabel('Select bulk-two').check()
  const bulk = page.getByRole('group', { name: 'Selected sessions' })
  await bulk.getByText('Allow 2…').click()
  for (const name of ['bulk-one', 'bulk-two']) await bulk.getByText(`# ${name}`).waitFor()
  await bulk.getByRole('button', { name: 'Allow these 2' }).click()
  await expect.poll(() => files.every((file) => existsSync(file)), { timeout: 60_000 }).toBe(true)
  await page.context().close()
})

test('a conversation is read with ease: calls in a row are one line, code has colours, and everything can be copied', async () => {
  const id = '78787878-2222-4333-8444-555555555555'
  const native = new NativeTranscript(house.home, house.home.project, id)
  native.prompt('Read them all')
  const tools = ['Read', 'Read', 'Bash'].map((name, i) => ({
    type: 'tool_use',
    id: `run${i}`,
    name,
    input: name === 'Bash' ? { command: 'ls -l # all' } : { file_path: `/srv/pool${i}.ts` },
  }))
  native.answer(tools)
  for (const tool of tools) native.result(tool.id, 'seen')
  const code = "const crabs = 'seven' // counted"
  native.answer(`So it is:\n\n\`\`\`ts\n${code}\n\`\`\`\n\n| pool | crabs |\n|---|---|\n| one | 7 |`)
  const page = await house.open(`/session/${id}`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: '2 reads, 1 command' }).click()
  await page.getByRole('button', { name: 'Bash ls -l # all' }).click()
  await page.locator('.inside .token.comment', { hasText: '# all' }).waitFor()
  const answer = page.locator('.card.answer', { hasText: 'So it is' })
  for (const [kind, text] of Object.entries({ keyword: 'const', string: "'seven'", comment: '// counted' }))
    await answer.locator(`.token.${kind}`, { hasText: text }).waitFor()
  await answer.locator('.code').getByRole('button', { name: 'Copy' }).click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code)
  await answer.hover()
  await answer.locator('.head').getByRole('button', { name: 'Copy' }).click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain('So it is:')
  const between = await answer.evaluate(
    (card) =>
      card.querySelector('table')!.getBoundingClientRect().top -
      card.querySelector('.code')!.getBoundingClientRect().bottom,
  )
  expect(between).toBeGreaterThanOrEqual(8)
  await page.context().close()
})

test('a new conversation is one click, and so is the way back', async () => {
  const page = await house.open('/chat')
  const said = page.locator('.answer', { hasText: 'Two things wait for you' })
  await said.waitFor()
  expect(await said.locator('h3').textContent()).toBe('main')
  await page.getByRole('button', { name: 'New conversation' }).click()
  await said.waitFor({ state: 'detached' })
  await page.getByRole('status', { name: 'Notices' }).getByRole('button', { name: 'Undo' }).click()
  await said.waitFor()
  await page.context().close()
})

test('without a log-in, every view that needs Claude says so and what to do', async () => {
  const newcomer = await openDashboard({
    before: ({ variables }) => {
      for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']) delete variables[name]
    },
  })
  try {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const page = await newcomer.open('/', { viewport })
      await page.locator('.claude.missing', { hasText: 'not connected' }).waitFor()
      await page.getByText('No sessions yet').waitFor()
      for (const [path, follows] of [
        ['/new', 'no task can run'],
        ['/chat', 'the offline agent answers'],
      ] as const) {
        await page.goto(newcomer.url() + path)
        await page.getByText(`Claude is not connected, so ${follows}.`).waitFor()
        await page.getByText('rockpool login').first().waitFor()
      }
      await page.goto(`${newcomer.url()}/new/${encodeURIComponent(newcomer.home.project)}`)
      await page.fill('#task', 'Count the sea stars')
      await page.locator('button[type=submit]:disabled', { hasText: 'Start a new session' }).waitFor()
      await page.goto(`${newcomer.url()}/settings`)
      await page.getByRole('region', { name: 'Doctor' }).getByText('Claude is not connected').waitFor()
      await page.context().close()
    }
  } finally {
    await newcomer.close()
  }
})

test('a phone logs in with the QR code of the settings, which works once', async () => {
  const page = await house.open('/settings')
  let code: string | undefined
  page.on('websocket', (socket) =>
    socket.on(
      'framereceived',
      ({ payload }) => (code = /"code":"([^"]+)"/.exec(String(payload))?.[1] ?? code),
    ),
  )
  await page.reload()
  const panel = page.getByRole('region', { name: 'On your phone' })
  await panel.getByText('tailscale serve').waitFor()
  await panel.getByRole('button', { name: 'Show a QR code' }).click()
  const drawn = panel.getByRole('img', { name: 'QR code that opens this page on a phone' })
  await drawn.waitFor()
  const link = `${house.url()}/#code=${code}`
  const { data } = create(link, { errorCorrectionLevel: 'L' }).modules
  const dark = await drawn.locator('path').getAttribute('d')
  expect(dark?.match(/M/g)).toHaveLength(data.filter(Boolean).length)
  const phone = await (await house.browser.newContext({ viewport: { width: 390, height: 844 } })).newPage()
  await phone.goto(link)
  await phone.getByRole('navigation', { name: 'Views' }).waitFor()
  const second = await (await house.browser.newContext()).newPage()
  await second.goto(link)
  await second.getByText('wrong, expired or was used').waitFor()
  for (const one of [page, phone, second]) await one.context().close()
})

test('a chat is read back to its very first message, and what is read stays where it is while older ones come', async () => {
  const key = 'agent:main:web:direct:%64ashboard'
  for (let i = 0; i < 1_100; i++) await house.call('sessions.inject', { key, message: `Shell number ${i}.` })
  const page = await house.open('/chat')
  await page.getByText('Shell number 1099.').first().waitFor()
  const moved = await page.evaluate<number>(`(async () => {
    const list = document.querySelector('.virtual')
    const settled = () => new Promise((resolve) => setTimeout(resolve, 400))
    list.scrollTop = 600
    await settled()
    const read = [...list.querySelectorAll('.card')].find((card) => card.getBoundingClientRect().top > 200)
    const words = read.textContent
    list.scrollTop -= 300
    const before = list.scrollHeight
    const at = read.getBoundingClientRect().top
    for (let i = 0; i < 50 && list.scrollHeight === before; i++) await settled()
    await settled()
    const now = [...list.querySelectorAll('.card')].find((card) => card.textContent === words)
    return list.scrollHeight === before ? NaN : Math.abs(now.getBoundingClientRect().top - at)
  })()`)
  expect(moved).toBeLessThan(3)
  const first = page.getByText('Shell number 0.')
  await expect
    .poll(
      async () => {
        await page.evaluate("document.querySelector('.virtual').scrollTop = 0")
        return first.count()
      },
      { timeout: 60_000 },
    )
    .toBeGreaterThan(0)
  await page.context().close()
})
