// The chat of the page in a real browser, with the real Claude behind it.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testModel } from './claude-home.ts'
import { hasChromium, openDashboard } from './dashboard-house.ts'
import type { DashboardHouse } from './dashboard-house.ts'

let house: DashboardHouse

beforeAll(async () => {
  if (!hasChromium) return
  house = await openDashboard({ config: { agents: { defaults: { model: testModel } } } })
  house.api.script('hello from the page', [{ text: 'Hello **page**, <b>not bold</b>.' }])
  house.api.script('do you remember', [{ text: 'You said hello.' }])
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

test('a person writes on the page and reads the answer there, also after a restart', async () => {
  const page = await house.open('/chat')
  await page.getByLabel('Message', { exact: true }).fill('hello from the page')
  await page.keyboard.press('Enter')
  const answer = page.locator('.answer', { hasText: 'Hello page' })
  await answer.waitFor({ timeout: 30_000 })
  expect(await answer.locator('strong').innerText()).toBe('page')
  expect(await answer.locator('b').count()).toBe(0)

  await house.stop()
  await house.start()
  const again = await house.open('/chat')
  await again.locator('.answer', { hasText: 'Hello page' }).waitFor()
  await again.getByLabel('Message', { exact: true }).fill('do you remember?')
  await again.keyboard.press('Enter')
  await again.locator('.answer', { hasText: 'You said hello.' }).waitFor({ timeout: 30_000 })
  const asked = house.api.requests.find((one) => one.prompt.includes('do you remember'))!
  expect(asked.text).toContain('Hello **page**')
})
