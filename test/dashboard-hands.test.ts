// What else a person does on the page: talk with files, stop, look closer, link, mend, scan, be told.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testModel } from './claude-home.ts'
import { hasChromium, NativeTranscript, openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'
import { inline } from './messages-api.ts'
import { WhatsappServer } from './whatsapp-server.ts'

let house: DashboardHouse
let whatsapp: WhatsappServer

beforeAll(async () => {
  if (!hasChromium) return
  whatsapp = await WhatsappServer.listen()
  house = await openDashboard({
    config: {
      coding: { defaultModel: testModel, maxSessions: 20 },
      channels: { whatsapp: { waWebSocketUrl: whatsapp.url } },
    },
  })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(async () => {
  await house?.close()
  await whatsapp?.close()
})

async function launch(prompt: string, name: string): Promise<{ id: string }> {
  const workdir = join(house.home.root, name)
  mkdirSync(workdir, { recursive: true })
  return house.call('coding.launch', { prompt, name, workdir, fresh: true, originChannel: 'web|dashboard' })
}

/** Lets a file fall onto the place where one writes. */
async function drop(page: Page, name: string, text: string): Promise<void> {
  const file = `new File([${JSON.stringify(text)}], ${JSON.stringify(name)}, { type: 'text/plain' })`
  const carried = await page.evaluateHandle(
    `(() => { const transfer = new DataTransfer(); transfer.items.add(${file}); return transfer })()`,
  )
  await page.locator('form.say').dispatchEvent('drop', { dataTransfer: carried })
}

test('a file that is dropped into the chat reaches the agent with the words', async () => {
  house.api.script('what does the table say', [{ text: 'Low tide at **six**.' }])
  const page = await house.open('/chat')
  // Larger than one piece, so that it has to be put together again.
  const table = `${'high, low\n'.repeat(60_000)}the last line of the table`
  await drop(page, 'tide-table.txt', table)
  await page.getByRole('list', { name: 'Files to send' }).getByText('tide-table.txt').waitFor()
  await page.getByLabel('Message').fill('what does the table say')
  await page.keyboard.press('Enter')
  await page.locator('.markdown strong', { hasText: 'six' }).waitFor()
  const asked = await house.api.requested(({ prompt }) => prompt.includes('what does the table say'))
  const path = /Attached \w+: tide-table\.txt at (\S+\.txt)/.exec(asked.prompt)?.[1]
  expect(path, asked.prompt).toBeDefined()
  const workspace = join(house.home.stateDir, 'agents/main/workspace')
  expect(readFileSync(resolve(workspace, path!), 'utf8')).toBe(table)
  await page.locator('.talks a[aria-current]').getByText('Low tide at').waitFor()
  await page.context().close()
})

test('a turn is interrupted from the page; the session stays and takes the next word', async () => {
  house.api.script('count every grain', [{ text: 'One, two, three', hangAfter: 1 }])
  house.api.script('never mind', [{ text: 'As you like.' }])
  const { id } = await launch('count every grain of sand', 'grains')
  const page = await house.open(`/coding/${id}`)
  await house.api.requested(({ prompt }) => prompt.includes('count every grain'))
  await page.getByRole('button', { name: 'Interrupt' }).click()
  await page.getByText('awaiting input').waitFor()
  await page.getByLabel('Message to grains').fill('never mind')
  await page.keyboard.press('Enter')
  await page.getByText('As you like.').first().waitFor()
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
  await page.getByLabel('Raw').check()
  await page.locator('.card.raw', { hasText: '"requestId"' }).first().waitFor()
  // A name with a dot is no file of ours: the page itself is sent.
  await page.goto(`${house.url()}/project/${encodeURIComponent('/srv/long.pool')}`)
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  await page.context().close()
})

test('what a session asks is told wherever one is, stays in the chat, and is answered there', async () => {
  const page = await house.open('/cost')
  const script = inline({ tools: [{ name: 'Bash', input: { command: 'rm -rf sand' } }] }, { text: 'left it' })
  await launch(script, 'tell-me')
  await page.getByRole('status', { name: 'Notices' }).getByText('would like to use Bash').waitFor()
  await page.goto(`${house.url()}/chat`)
  const notice = page.locator('.told', { hasText: 'tell-me' }).filter({ hasText: 'rm -rf sand' })
  await notice.getByRole('button', { name: 'Deny' }).click()
  await house.api.requested(({ text }) => text.includes('A person said no'))
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

test('a page that is open but not looked at tells that a session needs somebody', async () => {
  const page = await house.open()
  await page.context().grantPermissions(['notifications'])
  await page.addInitScript(noteNotifications)
  await page.reload()
  await page.locator('main h1, main .empty').first().waitFor()
  const script = inline({ tools: [{ name: 'Bash', input: { command: 'git push' } }] }, { text: 'ok' })
  const { id } = await launch(script, 'look-here')
  await expect
    .poll(() => page.evaluate<string[]>('told'), { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^look-here needs you: .*git push/))
  expect(await page.title()).toMatch(/^\(\d+\) Rockpool$/)
  await house.call('coding.kill', { session: id })
  await page.context().close()
})

test('what the doctor finds is mended with a button', async () => {
  const config = join(house.home.stateDir, 'rockpool.json')
  writeFileSync(config, readFileSync(config), { mode: 0o644 })
  const page = await house.open('/settings')
  const doctor = page.getByRole('region', { name: 'Doctor' })
  await doctor.getByText('can be read or changed by others').waitFor()
  await doctor.getByRole('button', { name: 'Mend what can be mended' }).click()
  await doctor.getByText('mended.').waitFor()
  expect(statSync(config).mode & 0o777).toBe(0o600)
  await page.context().close()
})

test('WhatsApp is linked by scanning the code on the page', async () => {
  const page = await house.open('/settings')
  const code = page.getByRole('img', { name: 'QR code that links WhatsApp' })
  await code.waitFor({ timeout: 20_000 })
  expect(await code.locator('path').getAttribute('d')).toMatch(/^M0 0h1v1h-1z/)
  const { channels } = await house.call<{ channels: Array<{ channel: string; needs?: { detail: string } }> }>(
    'channels.status',
  )
  whatsapp.scan(channels.find(({ channel }) => channel === 'whatsapp')!.needs!.detail)
  const row = page.locator('li', { hasText: 'whatsapp' }).first()
  await row.getByText('connected').waitFor({ timeout: 20_000 })
  expect(await code.count()).toBe(0)
  await page.context().close()
})
