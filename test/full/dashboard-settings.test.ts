// What a person does with the settings page and with pictures in the chat, in a real browser.
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testModel } from '../support/claude-home.ts'
import { hasChromium, openDashboard } from '../support/dashboard-house.ts'
import type { DashboardHouse } from '../support/dashboard-house.ts'
import { personMessage, TelegramApi } from '../support/telegram-api.ts'
import { WhatsappServer } from '../support/whatsapp-server.ts'

let house: DashboardHouse
let telegram: TelegramApi
let whatsapp: WhatsappServer

beforeAll(async () => {
  if (!hasChromium) return
  telegram = await TelegramApi.listen()
  whatsapp = await WhatsappServer.listen()
  house = await openDashboard({
    config: {
      coding: { defaultModel: testModel },
      channels: {
        telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 },
        whatsapp: { waWebSocketUrl: whatsapp.url },
      },
    },
  })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(async () => {
  await house?.close()
  await telegram?.close()
  await whatsapp?.close()
})

test('a stranger on Telegram asks, is let in from the page, and is answered', async () => {
  const page = await house.open('/settings')
  const ada = { id: 4711, name: 'Ada' }
  telegram.emit({ message: personMessage(telegram, ada, { id: 4711 }, 'hello?') })
  await page.getByText('Ada').waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.locator('li', { hasText: 'Ada' }).getByText('owner').waitFor()
  telegram.emit({ message: personMessage(telegram, ada, { id: 4711 }, 'and now?') })
  await expect.poll(() => telegram.shown.at(-1)?.text, { timeout: 20_000 }).toBe('OK.')
  await page.context().close()
})

test('what the doctor finds is fixed with a button', async () => {
  const config = join(house.home.stateDir, 'rockpool.json')
  chmodSync(config, 0o644)
  const page = await house.open('/settings')
  const doctor = page.getByRole('region', { name: 'Doctor' })
  await doctor.getByText('can be read or changed by others').waitFor()
  await doctor.getByRole('button', { name: 'Fix problems' }).click()
  await doctor.getByText('fixed.').waitFor()
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

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('a picture that the agent sends is shown, an answer can be answered, and commands are answered here', async () => {
  const workspace = join(house.home.stateDir, 'agents/main/workspace')
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'pool.png'), Buffer.from(onePixel, 'base64'))
  house.api.script('paint the pool', [{ text: '[[reply_to_current]] Here is the pool.\nMEDIA:pool.png' }])
  house.api.script('which of them', [{ text: 'The small one.' }])
  const page = await house.open('/chat')
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message', { exact: true }).fill(text)
    await page.keyboard.press('Enter')
  }
  await say('paint the pool')
  const sent = page.getByRole('list', { name: 'Files that were sent' })
  const picture = sent.getByRole('img', { name: 'pool.png' })
  await picture.waitFor()
  const answer = page.locator('.answer', { hasText: 'Here is the pool.' })
  expect(await answer.innerText()).not.toMatch(/MEDIA|\[\[/)
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    sent.getByRole('button', { name: 'Save' }).click(),
  ])
  expect(readFileSync(await saved.path(), 'base64')).toBe(onePixel)

  await page.getByRole('button', { name: 'Reply' }).last().click()
  await page.getByText('Answer to: Here is the pool.').waitFor()
  await say('which of them?')
  await page.locator('.answer', { hasText: 'The small one.' }).waitFor()
  expect(await page.getByText('Answer to:').count()).toBe(0)
  const asked = await house.api.requested(({ prompt }) => prompt.includes('which of them'))
  expect(asked.prompt).toMatch(/In reply to .*: Here is the pool\./)

  await say('/whoami')
  await page.locator('.received', { hasText: 'You are' }).waitFor()
  await page.context().close()
})
