// Every view as it is seen: accessible (axe), what a person looks for is there, and nothing hostile runs.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { leaveUsage } from '../../src/store/statusline-file.ts'
import { exploreId, invoicesId, paymentsId } from '../support/dashboard-demo.ts'
import { hasChromium, NativeTranscript } from '../support/dashboard-house.ts'
import { find, movedSinceLoad, openFurnished, problemsOf, show } from '../support/dashboard-looks.ts'
import type { FurnishedHouse } from '../support/dashboard-looks.ts'

const hostileId = '66666666-2222-4333-8444-555555555555'
const goneId = '67676767-2222-4333-8444-555555555555'
let house: FurnishedHouse

beforeAll(async () => {
  if (hasChromium) house = await openFurnished()
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

// test/full/dashboard.test.ts looks at every view, in light and dark.
test('the views of every day have no serious problem of accessibility, and none is wider than a narrow screen', async () => {
  const page = await house.open('/', { viewport: { width: 390, height: 800 } })
  const found: Record<string, string[]> = {}
  for (const name of ['inbox', 'session', 'coding', 'settings']) {
    await show(house, page, name)
    found[name] = await problemsOf(page)
  }
  await find(page, 'disabled')
  await page.getByRole('option', { name: /stays disabled/ }).waitFor()
  found['find'] = await problemsOf(page)
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])))
  await page.context().close()
})

test('keys work from the first moment: the inbox starts at what needs somebody, and the session at the right follows', async () => {
  const page = await house.open()
  const ours = page.locator('.row', { hasText: 'repair-login' })
  await ours.waitFor()
  expect(await ours.locator('.repo').textContent()).toBe('accounts')
  const current = page.locator('.row.current')
  const shown = page.locator('.session-head h1')
  await expect.poll(() => page.evaluate("document.activeElement.dataset['row'] !== undefined")).toBe(true)
  await expect.poll(() => shown.textContent()).toBe(await current.locator('.name').textContent())
  expect(await current.locator('.state').textContent()).toBe('needs you')
  while (!(await current.textContent())?.includes('Round invoice')) await page.keyboard.press('j')
  await page.getByText('waits there for permission to run: npm publish').waitFor()
  await page.getByText('Rounded once, and tested.').waitFor()
  expect(page.url()).toBe(`${house.url()}/`)
  await page.keyboard.press('k')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/coding\//)
  // Several at once: selected with Space, archived together, and brought back.
  await page.keyboard.press('g')
  await page.keyboard.press('a')
  await page.waitForURL(`${house.url()}/all`)
  await page.getByLabel('Filter the list').fill('certificates')
  const found = page.locator('.row', { hasText: 'Rotate the certificates' })
  await expect.poll(() => page.locator('.row').count()).toBe(1)
  expect(page.url()).toContain('q=certificates')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Space')
  await page
    .getByRole('group', { name: 'Selected sessions' })
    .getByRole('button', { name: 'Archive' })
    .click()
  await found.waitFor({ state: 'detached' })
  await page.getByRole('status', { name: 'Notices' }).getByRole('button', { name: 'Undo' }).click()
  await found.waitFor()
  await page.goto(`${house.url()}/all#q=billing-api&sort=-cost`)
  await page.locator('.row').nth(3).waitFor()
  const costs = await page.locator('.row .cost').allTextContents()
  expect(costs.map((text) => Number(text.slice(1)))).toEqual(
    costs.map((text) => Number(text.slice(1))).sort((a, b) => a - b),
  )
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Choose an answer of a question').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('n')
  await page.keyboard.type('not a shortcut')
  expect(await page.getByLabel('What should be done?').inputValue()).toBe('not a shortcut')
  await page.context().close()
})

test('the header has the usage windows that Claude reported, what today cost, and whether Claude is connected', async () => {
  const resets_at = Math.floor(Date.now() / 1000) + 7_200
  const windows = {
    five_hour: { used_percentage: 62, resets_at },
    seven_day: { used_percentage: 91, resets_at },
  }
  leaveUsage(house.home.stateDir, windows, Date.now())
  const page = await house.open('/cost')
  const header = page.locator('.top-bar')
  await header.locator('.window.open', { hasText: '5 h' }).getByText('62%').waitFor()
  await header.locator('.window.nearly-used', { hasText: 'Week' }).getByText('91%').waitFor()
  await header.getByText('Claude connected').waitFor()
  const today = await header.locator('.today strong').textContent()
  await page.locator('.tiles div', { hasText: 'Today' }).getByText(today!, { exact: true }).waitFor()
  await page.context().close()
})

test('a session shows what it consists of, what it changed, and what continuing would cost', async () => {
  const page = await house.open(`/session/${paymentsId}#tab=cost`)
  const about = page.getByRole('article', { name: 'Session' })
  const tab = (name: string) => page.getByRole('link', { name, exact: true }).last().click()
  const bar = about.getByRole('img', { name: /^Context: system \S+, prompts .* of 200k tokens$/ })
  await bar.waitFor()
  const kinds = await bar.locator('span').evaluateAll((parts) => parts.map((part) => part.className))
  expect(kinds).toEqual(expect.arrayContaining(['system', 'prompts', 'answers', 'results']))
  expect(await bar.locator('i').getAttribute('title')).toBe('Compacted when it is full')
  await about.getByText('compacted when it reaches 200k').waitFor()
  const price = await about.getByLabel('Price to continue').textContent()
  expect(price).toMatch(
    /Resume\$\d.*cold \(Claude Code started it with other tools.*Compact first\$\d.*Start fresh\$\d/,
  )
  await about.locator('.chart-space canvas').waitFor()
  // Before anything is sent: what changes, and what it costs at least.
  await page.locator('.dock').getByText("continues with Rockpool's tools").waitFor()
  await page
    .locator('.dock')
    .getByText(/^Resume \$0\.\d+, cache cold, \d+k tokens$/)
    .waitFor()
  await tab('About')
  await about.getByText('When resumed here').waitFor()
  for (const text of ['Intact', '2 prompts, 1 compaction']) await about.getByText(text).waitFor()
  await tab('Diff')
  const diff = page.getByRole('region', { name: 'Changes' }).locator('.diff')
  await page.getByRole('group').getByText('src/checkout.ts').waitFor()
  expect(await diff.locator('ins', { hasText: 'attempts: 3' }).textContent()).toMatch(/^\+ /)
  await tab('Conversation')
  await page.locator('.cliff').waitFor()
  await page.getByRole('button', { name: 'Edit src/checkout.ts' }).click()
  expect(await page.locator('.card .diff del').first().textContent()).toContain('- ')
  // Its sub-agent has a conversation and an address of its own, and the keyboard leads there and back.
  const called = page.locator('.card.tool', { hasText: 'Find who else' })
  await called.getByRole('link', { name: 'What it did' }).waitFor()
  await tab('Files')
  expect(await about.locator('li', { hasText: 'src/checkout.ts' }).textContent()).toContain('1 changed')
  await about.getByRole('link', { name: 'Find who else charges a card' }).press('Enter')
  await page.waitForURL(new RegExp(`/session/${paymentsId}/agent-${exploreId}$`))
  await page.locator('.card.answer', { hasText: 'nobody else imports the bank' }).waitFor()
  expect(await page.locator('.card.prompt').textContent()).toContain('Who calls charge()?')
  await page.getByRole('link', { name: /^← Carts are lost/ }).waitFor()
  await page.keyboard.press('Escape')
  await page.waitForURL(new RegExp(`/session/${paymentsId}$`))
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await tab('About')
  await about.getByRole('button', { name: 'Copy' }).click()
  await about.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`claude --resume ${paymentsId}`)
  await page.context().close()
})

test('a repository shows its pull requests, worktrees, documents and sessions, each leading somewhere', async () => {
  const page = await house.open(house.views['project'])
  const pulls = page.getByRole('region', { name: 'Pull requests' })
  await pulls.getByText('1 check fails: end to end (fail)').waitFor()
  await pulls
    .locator('li', { hasText: '#214' })
    .getByRole('link', { name: /Carts are lost/ })
    .waitFor()
  const documents = page.getByRole('region', { name: 'Documents' })
  await documents.getByRole('link', { name: '.specs/checkout.md' }).click()
  await page.getByRole('log').getByRole('heading', { name: 'Checkout' }).waitFor()
  await page.getByRole('link', { name: '← storefront' }).click()
  await page.getByRole('region', { name: 'retry-payments' }).getByText('?? src/retry.test.ts').waitFor()
  const worktrees = page.getByRole('region', { name: 'Worktrees' })
  await worktrees.getByRole('link', { name: 'storefront-hotfix' }).click()
  await page.locator('.project').getByRole('heading', { name: 'storefront-hotfix' }).waitFor()
  await page.getByRole('link', { name: 'New task here' }).click()
  expect(await page.getByLabel('Repository', { exact: true }).inputValue()).toMatch(/storefront-hotfix$/)
  // A task: the best five that could take it, the chosen one first, the others behind a button.
  await show(house, page, 'new')
  const candidates = page.locator('.candidate')
  expect(await candidates.count()).toBe(5)
  expect(await candidates.first().getAttribute('class')).toContain('chosen')
  // Typing a task stores no decision; the one that was asked for in a terminal is there.
  const { decisions } = await house.call<{ decisions: unknown[] }>('cc.why', { id: paymentsId, limit: 9 })
  expect(decisions).toHaveLength(1)
  const others = page.getByRole('button', { name: /^Show \d+ more$/ })
  const hidden = Number(/\d+/.exec((await others.textContent()) ?? '')?.[0])
  await others.click()
  expect(await candidates.count()).toBe(5 + hidden)
  await page.context().close()
})

test('costs are shown for a range, by day and by whom, with every budget; a day can be looked at alone', async () => {
  const page = await house.open('/cost')
  const days = page.getByRole('group', { name: 'Cost by day' }).getByRole('button')
  await days.first().waitFor()
  expect(await days.count()).toBe(30)
  const amounts = await days.evaluateAll((all) => all.map((day) => day.getAttribute('aria-label')))
  for (const amount of amounts) expect(amount).toMatch(/^\d{4}-\d\d-\d\d: \$\d/)
  // Days without costs have a place of their own.
  expect(amounts.some((amount) => amount!.endsWith('$0.00'))).toBe(true)
  await page.getByRole('button', { name: '90 days' }).click()
  await expect.poll(() => days.count()).toBe(90)
  expect(
    await page.locator('.day > span').evaluateAll((all) => new Set(all.map((one) => one.className)).size),
  ).toBe(3)
  const budgets = page.getByRole('region', { name: 'Budgets' })
  for (const name of ['Everything, today', 'Agent main, today', 'accounts, today', 'repair-login'])
    await budgets.getByRole('row', { name: new RegExp(`^${name} \\$\\d.* left of`) }).waitFor()
  await page.getByRole('link', { name: 'Model' }).click()
  await page.getByRole('rowheader', { name: /opus/ }).waitFor()
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as CSV' }).click(),
  ])
  expect(readFileSync(await saved.path(), 'utf8')).toMatch(/^model,name,costUsd,inputTokens,.*\n"claude-/)
  await days.last().click()
  await expect.poll(() => days.count()).toBe(1)
  expect(page.url()).toMatch(/\/cost\/model#from=([\d-]+)&to=\1$/)
  await page.context().close()
})

test('the palette finds within a repository, opens a hit at its place, and acts; nothing below it is reached', async () => {
  await house.call('memory.add', { text: 'The bank is called Littoral.' })
  const page = await house.open(`/session/${paymentsId}`)
  await page.locator('.card').first().waitFor()
  const found = page.getByRole('listbox', { name: 'Found' })
  await find(page, 'tested')
  await found.getByRole('option', { name: /Rounded once, and tested/ }).waitFor()
  await page.getByLabel('Repository', { exact: true }).selectOption({ label: 'mobile-app' })
  await found.getByRole('option', { name: /Rounded once/ }).waitFor({ state: 'detached' })
  await page.getByLabel('Repository', { exact: true }).selectOption('')
  for (let i = 0; i < 12; i++) await page.keyboard.press('Tab')
  expect(
    await page.evaluate(
      "document.activeElement.closest('dialog') !== null || document.activeElement === document.body",
    ),
  ).toBe(true)
  await page.getByRole('combobox', { name: 'Find' }).fill('charge a card')
  await found.getByRole('option', { name: /Only/ }).first().click()
  await page.waitForURL(new RegExp(`/session/${paymentsId}/.+`))
  await page.locator('.card.target', { hasText: 'both retry now' }).waitFor()
  expect(await page.locator('.card.target mark').allTextContents()).toEqual(['charge a card'])
  // In the session itself a phrase is found too, also far up.
  await page.getByLabel('Find in session').fill('stays disabled')
  await page.keyboard.press('Enter')
  await page.locator('.card.target mark', { hasText: 'stays disabled' }).waitFor()
  // What a sub-agent said is found in its own conversation.
  await find(page, 'nobody else imports')
  await found
    .getByRole('option', { name: /nobody else imports/ })
    .first()
    .click()
  await page.waitForURL(new RegExp(`/session/${paymentsId}/agent-${exploreId}/.+`))
  await page.locator('.card.target', { hasText: 'nobody else imports' }).waitFor()
  // Opened again, it knows nothing of what was looked for before, however it was closed.
  await page.keyboard.press('Control+k')
  const words = page.getByRole('combobox', { name: 'Find' })
  expect(await words.inputValue()).toBe('')
  await words.fill('charge a card')
  await page.getByRole('button', { name: 'I said' }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('/')
  expect(await words.inputValue()).toBe('')
  expect(await page.getByRole('button', { name: 'All', exact: true }).getAttribute('aria-pressed')).toBe(
    'true',
  )
  expect(await found.getByRole('option', { name: /Only/ }).count()).toBe(0)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await find(page, 'dark')
  await found
    .getByRole('option', { name: /^This page Dark|^Dark/ })
    .first()
    .click()
  expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark')
  // A word that was not said, but nearly, leads to the word that was.
  await find(page, 'Litoral')
  await found.getByRole('option', { name: /Did you mean.*littoral/i }).click()
  expect(await words.inputValue()).toBe('littoral')
  await found.getByRole('option', { name: /The bank is called Littoral/ }).waitFor()
  await page.keyboard.press('Escape')
  await find(page, 'Littoral')
  await page.getByRole('button', { name: 'Notes' }).click()
  await found
    .getByRole('option', { name: /Littoral/ })
    .first()
    .click()
  await page.locator('.lines li.target', { hasText: 'The bank is called Littoral.' }).waitFor()
  await page.context().close()
})

test('settings show what is configured and where it comes from', async () => {
  const page = await house.open('/settings')
  await page.getByLabel('Filter the configuration').fill('usdPerDay')
  const line = page.getByRole('row', { name: /coding\.budgets\.usdPerDay/ })
  expect(await line.textContent()).toMatch(/5file$/)
  await page.getByLabel('Filter the configuration').fill('durability')
  expect(await page.getByRole('row', { name: /durability/ }).textContent()).toContain('default')
  await page.getByRole('region', { name: 'Channels' }).getByText('connected').waitFor()
  await page.getByRole('region', { name: 'Agents' }).getByRole('link', { name: 'main' }).waitFor()
  await page.getByRole('region', { name: 'Doctor' }).getByText('No problems found.').waitFor()
  await page.context().close()
})

test('what does not exist is said, and what to do; the page can be installed and does not jump', async () => {
  const page = await house.open('/nonsense/xyz')
  await page.getByText('There is nothing at this address').waitFor()
  await page.goto(`${house.url()}/coding/nothing1`)
  await page.getByText('This session cannot be shown').waitFor()
  await page.goto(`${house.url()}/session/00000000-0000-4000-8000-000000000000`)
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  await page.locator('.detail').getByRole('link', { name: 'Inbox' }).click()
  await page.getByRole('list', { name: 'Inbox' }).waitFor()
  await page.goto(`${house.url()}/session/${paymentsId}/00000000-0000-4000-8000-000000000000`)
  await page.getByText('The message that the address names is not in this session.').waitFor()
  await page.locator('.card', { hasText: 'All 31 tests pass' }).waitFor()
  // A folder that is gone is said before somebody tries to resume.
  new NativeTranscript(house.home, '/srv/gone', goneId).prompt('Sweep the old pool')
  await page.goto(`${house.url()}/session/${goneId}`)
  await page.getByText('Its folder /srv/gone no longer exists').waitFor()
  expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0)
  await page.getByRole('link', { name: 'gone', exact: true }).first().click()
  await page.getByRole('heading', { name: 'This folder cannot be read' }).waitFor()
  expect(await page.locator('main').textContent()).not.toContain('--repo')
  await page.locator('.row', { hasText: 'Sweep the old pool' }).waitFor()
  await page.goto(`${house.url()}/session/${paymentsId}/agent-nobody`)
  await page.getByText('No sub-agent of').waitFor()
  const manifest = await page.evaluate<{ display: string; icons: unknown[] }>(
    "fetch(document.querySelector('link[rel=manifest]').href).then((answer) => answer.json())",
  )
  expect(manifest).toMatchObject({ display: 'standalone', icons: [{ src: '/icon.svg' }] })
  for (const path of ['/', '/cost']) {
    await page.goto(house.url() + path)
    await page.locator('.row, .tiles').first().waitFor()
    expect(await movedSinceLoad(page)).toBeLessThan(0.1)
  }
  await page.context().close()
})

test('a session is renamed, archived, restored and exported, and the list follows', async () => {
  const page = await house.open(`/session/${invoicesId}#tab=about`)
  await page.getByLabel('Title').fill('Invoices, again')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'Invoices, again' }).waitFor()
  const row = page.locator('.row', { hasText: 'Invoices, again' })
  await row.waitFor()
  await page.getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('button', { name: 'Restore' }).waitFor()
  await row.waitFor({ state: 'detached' })
  await page.getByLabel('Show archived').check()
  await row.waitFor()
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('button', { name: 'Archive' }).waitFor()
  const [exported] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  expect(readFileSync(await exported.path(), 'utf8')).toContain('Rounded once, and tested.')
  await page.context().close()
})

describe('attacks', () => {
  test('T17: an address cannot send the page elsewhere; its parameters are removed', async () => {
    const page = await house.open()
    const sockets: string[] = []
    page.on('websocket', (socket) => sockets.push(socket.url()))
    await page.goto(`${house.url()}/?gatewayUrl=ws://127.0.0.1:9/`)
    await page.locator('.row').first().waitFor()
    expect(page.url()).toBe(`${house.url()}/`)
    expect(new Set(sockets.map((url) => new URL(url).host))).toEqual(new Set([new URL(house.url()).host]))
    const refused = await page.goto(`${house.url()}/?gatewayUrl=ws://evil:1/&token=x`)
    expect(refused?.status()).toBe(400)
    await page.context().close()
  })

  test('T135, T138: whatever a transcript says is shown as text, and hidden characters are seen', async () => {
    const page = await house.open()
    const alerts: string[] = []
    page.on('dialog', (dialog) => {
      alerts.push(dialog.message())
      void dialog.dismiss()
    })
    const about = { model: 'claude\u202esunop' }
    const hostile = new NativeTranscript(house.home, '/srv/evil\u202etxt', hostileId, about)
    hostile.prompt('Show <img src=x onerror=alert(1)> \u202egnp.exe')
    hostile.answer(
      [
        '</script><script>alert(2)</script><img src=x onerror=alert(3)>',
        '[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>)',
        '<a href="javascript:alert(6)">raw</a> <iframe src="javascript:alert(7)"></iframe>',
        '<svg onload=alert(8)></svg> <form action="/logout"><button>go</button></form> **bold** \u202egnp.exe',
        '[good](https://127.0.0.1:9/) [bad](javascript:alert(10))',
      ].join('\n\n'),
    )
    const row = page.locator('.row', { hasText: '<img src=x onerror=alert(1)>' })
    expect(await row.locator('.repo').textContent()).toBe(String.raw`evil\u202etxt`)
    await house.call('cc.label', { id: hostileId, title: '</script><script>alert(9)</script>' })
    await page.locator('.row .name', { hasText: '</script><script>alert(9)' }).waitFor()
    await page.goto(`${house.url()}/session/${hostileId}`)
    await page.locator('.markdown strong', { hasText: 'bold' }).waitFor()
    const found = await page.evaluate(`({
      elements: document.querySelectorAll('main :is(script, img, iframe, svg[onload], form[action])').length,
      links: [...document.querySelectorAll('.markdown a')].map((link) => link.getAttribute('href')),
    })`)
    expect(found).toEqual({ elements: 0, links: ['https://127.0.0.1:9/'] })
    await page.getByRole('link', { name: 'About' }).click()
    await page
      .getByText(String.raw`claude\u202esunop`)
      .first()
      .waitFor()
    await page.goBack()
    await page.locator('.markdown strong', { hasText: 'bold' }).waitFor()
    expect(await page.locator('body').textContent()).not.toContain('\u202e')
    expect(await page.locator('.card.prompt').textContent()).toContain('\\u202egnp.exe')
    expect(await page.locator('.markdown').first().textContent()).toContain('\\u202egnp.exe')
    const link = page.locator('.markdown a')
    expect(await link.getAttribute('rel')).toBe('noreferrer noopener')
    for (const word of ['click', 'data', 'raw'])
      await page.locator('.markdown').getByText(word).first().click()
    expect(alerts).toEqual([])
    expect(page.url()).toBe(`${house.url()}/session/${hostileId}`)
    for (const depth of [1_000, 20_000]) {
      hostile.answer(`${'>'.repeat(depth)} the end of ${depth}`)
      await page.getByText(`the end of ${depth}`).first().waitFor()
    }
    await page.context().close()
  })

  test('the cookie is out of reach of scripts and other sites, and the policy allows no inline script', async () => {
    const page = await house.open()
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' })
    expect(await page.evaluate('document.cookie')).toBe('')
    const answer = await page.goto(house.url())
    const policy = answer!.headers()['content-security-policy']!
    for (const rule of [
      "default-src 'self'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(rule)
    expect(policy).not.toContain('unsafe')
    expect(await answer!.text()).not.toMatch(/<script(?![^>]*\bsrc=)/)
    const hosts = await page.evaluate(() =>
      performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host),
    )
    expect(new Set(hosts)).toEqual(new Set([new URL(house.url()).host]))
    await page.context().close()
  })

  test('a request that another site forges with the cookie is refused', async () => {
    const page = await house.open()
    const [cookie] = await page.context().cookies()
    const forge = (path: string, headers: Record<string, string>): Promise<Response> =>
      fetch(house.url() + path, {
        method: 'POST',
        headers: { cookie: `${cookie!.name}=${cookie!.value}`, ...headers },
        body: '{"jsonrpc":"2.0","id":1,"method":"sessions.list"}',
      })
    expect((await forge('/rpc', { origin: 'https://evil.example' })).status).toBe(403)
    expect((await forge('/rpc', { origin: house.url() })).status).toBe(401)
    expect((await forge('/logout', { origin: 'https://evil.example' })).status).toBe(403)
    // A server on another port of this machine receives the cookie, but it cannot read the storage of our origin.
    expect((await forge('/logout', { origin: house.url() })).status).toBe(200)
    await page.reload()
    await page.locator('.row').first().waitFor()
    await page.context().close()
  })
})
