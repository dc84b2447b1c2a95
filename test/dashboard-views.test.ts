// Every view as it is seen: nobody is shut out (axe), nothing hostile runs, and, when asked for, a picture for docs/.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testModel } from './claude-home.ts'
import { furnish, parserId, seaStarsId } from './dashboard-demo.ts'
import type { Demo } from './dashboard-demo.ts'
import { hasChromium, NativeTranscript, openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'
import { inline } from './messages-api.ts'

const pictures = process.env['ROCKPOOL_SCREENSHOTS'] === '1'
const hostileId = '66666666-2222-4333-8444-555555555555'
let house: DashboardHouse
let demo: Demo
let views: Record<string, string>

beforeAll(async () => {
  if (!hasChromium) return
  house = await openDashboard({
    config: { coding: { defaultModel: testModel, budgets: { usdPerDay: 5 } } },
    before: (home) => (demo = furnish(home)),
  })
  house.api.script('repair the login form', [
    { text: 'First I run the tests.', tools: [{ name: 'Bash', input: { command: 'npm test && git push' } }] },
    { text: 'Done.' },
  ])
  const coding = await house.call<{ id: string }>('coding.launch', {
    prompt: 'Please repair the login form and push it.',
    name: 'repair-login',
    workdir: demo.login,
    fresh: true,
    originChannel: 'web|dashboard',
  })
  views = {
    home: '/',
    session: `/session/${seaStarsId}`,
    coding: `/coding/${coding.id}`,
    chat: '/chat',
    choose: '/choose',
    project: `/project/${encodeURIComponent(demo.tidepool)}`,
    cost: '/cost',
    settings: '/settings',
  }
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

/** Shown: the view has its data. */
async function show(page: Page, name: string): Promise<void> {
  await page.goto(house.url() + views[name]!)
  await page.locator('main h1, main h2, main .empty').first().waitFor({ state: 'attached' })
  if (name === 'home') await page.locator('.row').first().waitFor()
  if (name === 'session') await page.locator('.context-bar').waitFor()
  if (name === 'coding') await page.locator('.asked').waitFor()
  if (name === 'chat') await page.getByText('would like to use Bash').waitFor()
  if (name === 'choose') await chooseSomething(page)
  await expect.poll(() => page.locator('.loading').count(), { timeout: 20_000 }).toBe(0)
}

async function chooseSomething(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill('Count the sea stars again')
  await page.getByLabel('Repository', { exact: true }).fill(demo.tidepool)
  await page.getByRole('button', { name: 'Which session?' }).click()
  await page.getByRole('region', { name: 'Selection' }).waitFor()
}

interface AxeWindow {
  axe: {
    run(
      options: object,
    ): Promise<{ violations: Array<{ id: string; impact: string; nodes: Array<{ html: string }> }> }>
  }
}

async function seriousProblems(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's policy does not hold back.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as AxeWindow).axe.run({ resultTypes: ['violations'] }),
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

async function picture(page: Page, name: string, scheme: string): Promise<void> {
  if (!pictures) return
  const folder = join(import.meta.dirname, '../docs/dashboard')
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}-${scheme}.png`) })
}

// The third pair is only for the pictures: it shows what the others have shown.
const looks = [
  { scheme: 'light' as const, width: 1280 },
  { scheme: 'dark' as const, width: 400 },
  ...(pictures ? [{ scheme: 'dark' as const, width: 1280 }] : []),
]
describe.each(looks)('$scheme, $width px wide', ({ scheme, width }) => {
  test('no view has a serious problem of accessibility, and none is wider than the screen', async () => {
    const page = await house.open('/', { colorScheme: scheme, viewport: { width, height: 800 } })
    const found: Record<string, string[]> = {}
    for (const name of Object.keys(views)) {
      await show(page, name)
      const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      found[name] = [...(await seriousProblems(page)), ...(wider > 0 ? [`${wider} px too wide`] : [])]
      if (width === 1280) await picture(page, name, scheme)
    }
    await page.goto(house.url())
    await page.locator('.row').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('crabs')
    await page.getByRole('option', { name: /Seven crabs/ }).waitFor()
    found['find'] = await seriousProblems(page)
    if (width === 1280) await picture(page, 'find', scheme)
    expect(found).toEqual(Object.fromEntries([...Object.keys(views), 'find'].map((name) => [name, []])))
    await page.context().close()
  }, 150_000)
})

test('a hit of the search is opened with the keyboard alone', async () => {
  const page = await house.open()
  await page.locator('.row').first().waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').getByRole('combobox').fill('five')
  await page.getByRole('option', { name: /There are/ }).waitFor()
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/session\//)
  await page.getByText('Seven crabs.').waitFor()
  await page.context().close()
})

test('a session is renamed, archived and restored, and the list follows', async () => {
  const page = await house.open(`/session/${parserId}`)
  await page.getByLabel('Title').fill('The parser, again')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: 'The parser, again' }).waitFor()
  await page.getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('button', { name: 'Restore' }).waitFor()
  await page.getByRole('link', { name: 'Home' }).click()
  await page.locator('.row', { hasText: 'sea stars' }).waitFor()
  expect(await page.locator('.row', { hasText: 'The parser, again' }).count()).toBe(0)
  await page.goBack()
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('button', { name: 'Archive' }).waitFor()
  const [exported] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ])
  expect(readFileSync(await exported.path(), 'utf8')).toContain('Repaired and tested.')
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
    const hostile = new NativeTranscript(house.home, '/srv/evil', hostileId)
    hostile.prompt('Show <img src=x onerror=alert(1)> \u202egnp.exe')
    hostile.answer(
      [
        '</script><script>alert(2)</script><img src=x onerror=alert(3)>',
        '[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>)',
        '<a href="javascript:alert(6)">raw</a> <iframe src="javascript:alert(7)"></iframe>',
        '<svg onload=alert(8)></svg> <form action="/logout"><button>go</button></form> **bold** \u202egnp.exe',
      ].join('\n\n'),
    )
    const row = page.locator('.row', { hasText: '<img src=x onerror=alert(1)>' })
    await row.waitFor()
    await page.goto(`${house.url()}/session/${hostileId}`)
    await page.locator('.markdown strong', { hasText: 'bold' }).waitFor()
    const found = await page.evaluate(`({
      elements: document.querySelectorAll('main :is(script, img, iframe, svg[onload], form[action])').length,
      links: [...document.querySelectorAll('.markdown a')].map((link) => link.getAttribute('href')),
    })`)
    expect(found).toEqual({ elements: 0, links: [null, null, null] })
    expect(await page.locator('.card.prompt').textContent()).toContain('\\u202egnp.exe')
    expect(await page.locator('.markdown').first().textContent()).toContain('\\u202egnp.exe')
    for (const link of await page.locator('.markdown a').all()) await link.click({ force: true })
    expect(alerts).toEqual([])
    expect(page.url()).toBe(`${house.url()}/session/${hostileId}`)
    await page.context().close()
  })

  test('an approval with hidden characters shows them', async () => {
    const page = await house.open()
    const command = 'python3 -c 1 \u202e# fr- mr'
    mkdirSync(join(house.home.root, 'bidi'))
    await house.call('coding.launch', {
      prompt: inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'ok' }),
      name: 'bidi',
      workdir: join(house.home.root, 'bidi'),
      fresh: true,
    })
    await page.locator('.row', { hasText: 'bidi' }).getByRole('button', { name: 'Answer' }).click()
    const asked = await page.locator('.asked').textContent()
    expect(asked).toContain('\\u202e')
    expect(asked).not.toContain('\u202e')
    await page.getByRole('button', { name: 'Deny' }).click()
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
    await page.reload()
    await page.locator('.row').first().waitFor()
    await page.context().close()
  })
})
