// The page's view of schedules with real runs: a calendar of what comes, every schedule with its policies and cost, a log of what ran,
// on a wide screen and on a phone.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { testModel } from '../support/claude-home.ts'
import { hasChromium, openDashboard } from '../support/dashboard-house.ts'
import type { DashboardHouse } from '../support/dashboard-house.ts'
import { problemsOf } from '../support/dashboard-looks.ts'

let house: DashboardHouse
let repo: string

beforeAll(async () => {
  if (!hasChromium) return
  house = await openDashboard({ config: { coding: { defaultModel: testModel } } })
  repo = join(house.home.root, 'storefront')
  mkdirSync(join(repo, '.claude'), { recursive: true })
})
beforeEach((ctx) => {
  if (!hasChromium) ctx.skip('chromium is not installed')
})
afterAll(() => house?.close())

const add = (input: Record<string, unknown>): Promise<{ id: string }> => house.call('schedules.add', input)

test('without schedules the page says how to add one', async () => {
  const page = await house.open('/schedules')
  await page.getByText('No schedules yet').waitFor()
  await page.getByText('rockpool schedules add "weekdays 9:00"').waitFor()
  expect(await problemsOf(page)).toEqual([])
  await page.context().close()
})

test('the calendar shows what comes, the log what ran and what it cost, and both follow the gateway', async () => {
  house.api.script('Run the tests', [{ text: 'All 31 tests pass.', usage: { output_tokens: 40_000 } }])
  house.api.otherwise = { text: 'Two pull requests wait for you.' }
  const page = await house.open('/schedules', { viewport: { width: 1440, height: 900 } })
  await page.getByText('No schedules yet').waitFor()
  // Added elsewhere: the page follows.
  await add({ when: 'daily 9:00', text: 'Summarize my open pull requests', name: 'morning-summary' })
  const item = (name: string) => page.locator('.schedule-list > li', { hasText: name })
  await item('morning-summary').waitFor()
  await add({ when: 'every 15 minutes', text: 'Look at the mail', name: 'mail', do: 'wake', missed: 'skip' })
  const coding = { do: 'coding', workdir: repo, runBudgetUsd: 3, totalBudgetUsd: 20, overlap: 'queue' }
  await add({ when: 'weekdays 2:30', text: 'Run the tests', name: 'nightly-tests', ...coding })
  await add({
    when: 'mondays 8:30',
    text: 'Stand-up at nine',
    name: 'stand-up',
    do: 'message',
    to: 'web|dashboard',
  })
  await item('stand-up').waitFor()

  const days = page.locator('.calendar > li')
  expect(await days.count()).toBe(14)
  expect(await days.filter({ hasText: 'morning-summary' }).count()).toBeGreaterThanOrEqual(13)
  expect(await days.filter({ hasText: 'stand-up' }).count()).toBe(2)
  expect(await page.locator('.calendar', { hasText: 'mail' }).count()).toBe(0)
  await page.getByText('Several times a day: mail (every 15 minutes').waitFor()
  expect(await item('nightly-tests').textContent()).toMatch(
    /coding session in storefront.*overlapping runs are queued/,
  )

  await item('nightly-tests').getByRole('button', { name: 'Run now' }).click()
  const line = page.locator('.run-log tbody tr', { hasText: 'nightly-tests' })
  await line.getByText('ended').waitFor()
  const cost = Number((await line.locator('.number').last().textContent())!.slice(1))
  expect(cost).toBeGreaterThan(0)
  await expect.poll(() => item('nightly-tests').textContent()).toContain(`$${cost.toFixed(2)} of $20.00`)
  await line.getByRole('link', { name: /All 31 tests pass/ }).click()
  await page.waitForURL(/\/coding\/S/)
  await page.goBack()

  await item('mail').getByRole('button', { name: 'Pause' }).click()
  await item('mail').getByText('Paused by the owner.').waitFor()
  await item('mail').getByRole('button', { name: 'Resume' }).click()
  await item('mail').getByRole('button', { name: 'Pause' }).waitFor()
  await item('stand-up').getByRole('button', { name: 'Remove…' }).click()
  await item('stand-up').getByRole('button', { name: 'Remove stand-up' }).click()
  await item('stand-up').waitFor({ state: 'detached' })
  expect(await problemsOf(page)).toEqual([])
  await page.context().close()
})

test('a phone shows the days on which something is due and every run, and nothing is wider than the screen', async () => {
  const tasks = [{ id: 't', cron: '0 9 * * *', prompt: 'Check the build' }]
  writeFileSync(join(repo, '.claude', 'scheduled_tasks.json'), JSON.stringify({ tasks }))
  await add({ when: '2031-01-01 09:00', text: 'Much later', name: 'much-later' })
  const page = await house.open('/schedules', { viewport: { width: 390, height: 844 }, isMobile: true })
  await page.locator('.run-log tbody tr').first().waitFor()
  await page.getByText('In Claude Code itself').waitFor()
  await page.getByText('Check the build').waitFor()
  expect(await problemsOf(page)).toEqual([])
  await page.context().close()
})
