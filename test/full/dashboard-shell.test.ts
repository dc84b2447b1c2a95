// The page that the browser keeps for when the gateway is away: always the newest build's, and nothing but the page.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { hasChromium, openBrowser } from '../support/dashboard-house.ts'
import { openHouse } from '../support/gateway-house.ts'

const undo: Array<() => unknown> = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function keptBy(page: Page): Promise<string[]> {
  const paths = await page.evaluate<string[]>(
    "caches.open('rockpool-shell').then((c) => c.keys()).then((all) => all.map((one) => new URL(one.url).pathname))",
  )
  return paths.sort()
}

test('a new build is shown by the next load, is what is kept from then on, and of the old one nothing stays', async (ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
  const web = mkdtempSync(join(tmpdir(), 'rockpool-shell-'))
  undo.push(() => rmSync(web, { recursive: true }))
  cpSync(join(import.meta.dirname, '../../dist/web'), web, { recursive: true })
  const house = await openHouse({ webRoot: web })
  undo.push(() => house.close().catch(() => undefined))
  const browser = await openBrowser()
  undo.push(() => browser.close())
  const page = await browser.newPage()
  const address = `http://127.0.0.1:${house.gateway.port}/`
  await page.goto(address)
  await page.evaluate('navigator.serviceWorker.ready.then(() => 0)')
  const before = await keptBy(page)
  expect(before).toEqual(expect.arrayContaining(['/', '/icon.svg', '/rockpool.webmanifest']))

  const late = readdirSync(join(web, 'assets')).find((name) => /^usage-chart-.*\.js$/.test(name))!
  const html = readFileSync(join(web, 'index.html'), 'utf8')
  const newer = html
    .replace('#0e7c7b', '#123456')
    .replace(/<link rel="manifest".*?>/, `<link rel="modulepreload" href="/assets/${late}" />`)
  writeFileSync(join(web, 'index.html'), newer)
  await page.goto(`${address}settings`)
  expect(await page.evaluate('document.head.innerHTML')).toContain('#123456')
  const after = [...before.filter((path) => path !== '/rockpool.webmanifest'), `/assets/${late}`].sort()
  await expect.poll(() => keptBy(page), { timeout: 20_000 }).toEqual(after)

  // A door of the gateway is no view: the worker neither answers for it nor keeps what it says.
  expect(await (await page.goto(`${address}health`))!.json()).toEqual({ ok: true })
  await house.close()
  await page.goto(`${address}cost`)
  await page.getByRole('heading', { name: 'The gateway is not reachable' }).waitFor()
  expect(await page.evaluate('document.head.innerHTML')).toContain('#123456')
  expect(await keptBy(page)).toEqual(after)
  await expect(page.goto(`${address}health`)).rejects.toThrow('ERR_CONNECTION_REFUSED')
})
