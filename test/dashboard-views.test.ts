// Every view as it is seen: nobody is shut out (axe), what a person looks for is there, and nothing hostile runs.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parserId } from './dashboard-demo.ts'
import { hasChromium, NativeTranscript } from './dashboard-house.ts'
import { find, openFurnished, problemsOf, show } from './dashboard-looks.ts'
import type { FurnishedHouse } from './dashboard-looks.ts'

const hostileId = '66666666-2222-4333-8444-555555555555'
let house: FurnishedHouse

beforeAll(async () => {
  if (hasChromium) house = await openFurnished()
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

test('no view has a serious problem of accessibility, and none is wider than a narrow screen', async () => {
  const page = await house.open('/', { viewport: { width: 390, height: 800 } })
  const found: Record<string, string[]> = {}
  for (const name of Object.keys(house.views)) {
    await show(house, page, name)
    found[name] = await problemsOf(page)
  }
  await find(page, 'crabs')
  await page.getByRole('option', { name: /Seven crabs/ }).waitFor()
  found['find'] = await problemsOf(page)
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])))
  await page.context().close()
})

test('a hit of the search is opened with the keyboard alone', async () => {
  const page = await house.open()
  await page.locator('.row').first().waitFor()
  await find(page, 'five')
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
