// The page of `rockpool demo`: what a person sees who tries Rockpool for the first time, without Claude.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hasChromium, openDashboard } from '../support/dashboard-house.ts'
import type { DashboardHouse } from '../support/dashboard-house.ts'

let house: DashboardHouse
beforeAll(async () => {
  if (hasChromium) house = await openDashboard({ isDemo: true })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(async () => {
  await house?.close()
})

const row = (page: Page, name: string) => page.locator('.row', { hasText: name })

test('the page says that it is a demo, and how many sessions need a person and why', async () => {
  const page = await house.open()
  await page.getByText('This is a demo with sample sessions.').waitFor()
  await page.getByText('need you (1 failed)').waitFor()
  expect(await page.locator('body').textContent()).not.toContain('not connected')
  await page.context().close()
})

test('a resumed session keeps its title, its cost and its context, and its answer follows in the conversation', async () => {
  const page = await house.open()
  await row(page, 'Round money once').getByRole('link').click()
  const message = page.getByLabel('Message to this session')
  expect(await message.getAttribute('placeholder')).toContain('Empty: continue where it left off')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.locator('.card', { hasText: "I am Rockpool's offline agent" }).waitFor()
  expect(await row(page, 'Round money once').locator('.cost').textContent()).toBe('$0.16')
  const head = page.locator('.session-head', { hasText: 'Round money once' })
  await head.filter({ hasText: '$0.16' }).filter({ hasText: '$0.00 of $5.00 since the resume' }).waitFor()
  await head.filter({ hasText: '26%' }).waitFor()
  expect(await row(page, 'continue-where-left').count()).toBe(0)
  await page.context().close()
})

test('each tab of a session without a transcript has its own content, and no command that cannot work', async () => {
  const page = await house.open()
  await row(page, 'fix-login-button').getByRole('link').click()
  const body = page.locator('.session-pane')
  const tab = (name: string) => body.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await tab('Diff')
  await body.getByText('changed since it began').waitFor()
  await tab('Files')
  await body.getByText('the files that it read or changed are not known').waitFor()
  await tab('Cost')
  await body.getByText('$0.00 of $5.00').last().waitFor()
  await tab('Raw')
  await body.getByText('its records are not known').waitFor()
  await tab('About')
  await body.getByText(/^ready: The button is disabled .* 12 passed\.$/).waitFor()
  expect(await body.textContent()).not.toContain('claude --resume')
  await page.context().close()
})

test('a command in the chat is answered, and the page is not busy after it', async () => {
  const page = await house.open('/chat')
  await page.getByPlaceholder('Write to the agent').fill('/help')
  await page.keyboard.press('Enter')
  await page.getByText('/whoami').first().waitFor()
  await page.locator('.say button:disabled', { hasText: 'Stop' }).waitFor()
  expect(await page.locator('.doing').count()).toBe(0)
  await page.context().close()
})

test('on a phone every view has a link, and a schedule is added with its next time or the reason why not', async () => {
  const page = await house.open('/', { viewport: { width: 390, height: 844 } })
  const tabs = page.getByRole('navigation', { name: 'Views' })
  for (const name of ['Review', 'Working', 'Failed', 'Mail', 'Schedules']) {
    await tabs.getByRole('button', { name: 'More' }).click()
    await tabs.getByRole('link', { name }).click()
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
  }
  const form = page.getByRole('form', { name: 'Add a schedule' })
  await form.getByLabel('When').fill('some day')
  await form.getByLabel('Task').fill('Water the plants')
  await form.getByRole('button', { name: 'Add' }).click()
  await form.getByRole('alert').waitFor()
  await form.getByLabel('When').fill('weekdays 9:00')
  await form.getByRole('button', { name: 'Add' }).click()
  await page
    .getByRole('status', { name: 'Notices' })
    .getByText(/added, next/)
    .waitFor()
  await page.getByRole('heading', { name: 'Upcoming' }).waitFor()
  await page.context().close()
})
