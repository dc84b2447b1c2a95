// The page that the browser keeps for when the gateway is away: always the newest build's, and nothing but the page.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { hasChromium, openBrowser } from '../support/dashboard-house.ts'
import { newRepo, openGateway } from '../support/coding-gateway.ts'
import { openHouse, rpc } from '../support/gateway-house.ts'
import { deviceKeys } from '../../src/store/device-file.ts'

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
  await page.goto(`${address}new`)
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

test('a push is shown as a notification, and a press on Allow answers the request', async (ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
  const house = await openGateway({}, { webRoot: join(import.meta.dirname, '../../dist/web') })
  const prompt = '[[offline: ask Bash {"command":"touch made"}]]'
  await rpc(house, 'coding.launch', { prompt, workdir: newRepo(house), name: 'asker' })
  const { approvals } = house.app.storage
  await expect.poll(() => approvals.pending().length, { timeout: 20_000 }).toBe(1)
  const keys = { p256dh: 'unused', auth: 'unused' }
  const added = await rpc(house, 'devices.add', { url: 'https://push.invalid/abc', keys })
  const deviceId = (added.result as { device: { id: string } }).device.id
  const answer = `approve:${approvals.pending()[0]!.id}:allow`
  const answers = [
    { label: 'Allow once', deviceId, answer, signed: deviceKeys(house.dir).sign(deviceId, answer) },
  ]
  const notice = {
    title: 'asker wants to run a command',
    body: 'touch made',
    path: '/coding/x',
    tag: 't',
    answers,
  }

  const browser = await openBrowser()
  undo.push(() => browser.close())
  const origin = `http://127.0.0.1:${house.gateway.port}`
  const context = await browser.newContext()
  await context.grantPermissions(['notifications'], { origin })
  const page = await context.newPage()
  await page.goto(origin)
  await page.evaluate('navigator.serviceWorker.ready.then(() => 0)')
  const worker = context.serviceWorkers()[0]!
  const push = `dispatchEvent(new PushEvent('push', { data: ${JSON.stringify(JSON.stringify(notice))} }))`
  await worker.evaluate(push)
  const shown =
    'registration.getNotifications().then((all) => all.map(({ title, body }) => ({ title, body })))'
  const visible = [{ title: 'asker wants to run a command', body: 'touch made' }]
  await expect.poll(() => worker.evaluate(shown), { timeout: 60_000 }).toEqual(visible)
  await worker.evaluate(
    `registration.getNotifications().then(([notification]) =>
      dispatchEvent(new NotificationEvent('notificationclick', { notification, action: 'Allow once' })))`,
  )
  await expect.poll(() => approvals.recent(1)[0]!.state, { timeout: 60_000 }).toBe('allowed')
  expect(approvals.recent(1)[0]!.answeredBy).toContain('device:')
})
