// The plugin and mail on the page, with a real session in a terminal: the plugin is installed in the settings, the session gets mail
// from its page, its permission dialog is a row of the inbox, and a compaction is seen while it runs.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { openClaudeTerminal, type ClaudeTerminal } from '../support/claude-terminal.ts'
import { hasChromium, openDashboard, type DashboardHouse } from '../support/dashboard-house.ts'
import { problemsOf } from '../support/dashboard-looks.ts'
import { noTerminal } from '../support/terminal.ts'

const missing = hasChromium ? noTerminal : 'chromium is not installed'
const wide = { viewport: { width: 1440, height: 900 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true }
let house: DashboardHouse
let terminal: ClaudeTerminal
let session: string

beforeAll(async () => {
  if (missing === undefined) house = await openDashboard()
})
beforeEach((ctx) => {
  if (missing !== undefined) ctx.skip(missing)
})
afterAll(async () => {
  terminal?.close()
  await house?.close()
})

async function done(page: Page): Promise<void> {
  expect(await problemsOf(page)).toEqual([])
  await page.context().close()
}

test('the settings show what the plugin will change, and install it', async () => {
  const page = await house.open('/settings')
  const panel = page.getByRole('region', { name: 'Terminal sessions' })
  await panel.getByText('not installed').waitFor()
  await panel.getByRole('button', { name: 'Install the plugin…' }).click()
  await panel
    .getByText(/Add the folder .*skills\/rockpool\. New sessions load it; no setting is changed\./)
    .waitFor()
  expect(existsSync(join(house.home.configDir, 'skills/rockpool'))).toBe(false)
  await panel.getByRole('button', { name: 'Install now' }).click()
  await panel.getByRole('button', { name: 'Remove the plugin…' }).waitFor()
  expect(existsSync(join(house.home.configDir, 'skills/rockpool/server.mjs'))).toBe(true)
  await done(page)
})

test('the page of a session in a terminal sends it mail, and shows the receipt', async () => {
  terminal = await openClaudeTerminal(house.home)
  house.api.script('hello there', [{ text: 'Hello.' }])
  await terminal.prompt('hello there')
  await terminal.shows('Hello.')
  session = house.api.calls().at(-1)!.sdkSessionId!
  const page = await house.open(`/session/${session}`, wide)
  const field = page.getByRole('textbox', { name: /^Mail to this session/ })
  await field.fill('the API has a new field: phone')
  await field.press('Enter')
  const line = page.locator('.mail-lines > li', { hasText: 'the API has a new field: phone' })
  await line.waitFor()
  await house.api.requested(({ text }) => text.includes('> the API has a new field: phone'), 30_000)
  await line.getByText('read', { exact: true }).waitFor()
  await done(page)
})

test.each([wide, phone])(
  'mail has every message with its receipt, and a form: %o',
  async (look) => {
    const page = await house.open('/mail', look)
    await page.locator('.mail-lines > li', { hasText: 'the API has a new field' }).getByText('read').waitFor()
    const body = `are you done? ${look.viewport.width}`
    await page.getByRole('textbox', { name: 'Message' }).fill(body)
    await page.getByRole('combobox', { name: 'To' }).fill('no such session')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('There is no session or chat "no such session"').waitFor()
    await page.getByRole('combobox', { name: 'To' }).fill(session)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.mail-lines > li', { hasText: body }).getByText('read').waitFor({ timeout: 60_000 })
    await page.getByRole('link', { name: 'To you' }).click()
    await page.getByText('No messages').waitFor()
    await done(page)
  },
  90_000,
)

test('a permission dialog of a terminal is a row of the inbox, and is answered there', async () => {
  const page = await house.open('/', wide)
  const tools = [{ name: 'Bash', input: { command: 'mkdir by-page' } }]
  house.api.script('make it', [{ tools }, { text: 'It is made.' }])
  await terminal.prompt('make it')
  const row = page.locator('.row', { hasText: 'mkdir by-page' })
  await row.waitFor()
  await row.locator('a').first().click()
  await page.getByRole('button', { name: /^Allow once/ }).click()
  await terminal.shows('It is made.')
  expect(existsSync(join(house.home.project, 'by-page'))).toBe(true)
  await row.waitFor({ state: 'detached' })
  await done(page)
})

test('lists show that a session compacts its context, and that an error has ended its turn', async () => {
  const page = await house.open('/all', wide)
  const row = (text: string) => page.locator('.row', { hasText: text })
  house.api.summary = { ...house.api.summary, hold: 'summary' }
  await terminal.prompt('/compact')
  await row('compacts its context').waitFor()
  house.api.release('summary')
  await row('compacts its context').waitFor({ state: 'detached' })
  expect(terminal.screen()).not.toContain('suppressOutput')
  const refused = { status: 400, errorType: 'invalid_request_error', message: 'no' }
  house.api.script('fail now', [refused])
  await terminal.prompt('fail now')
  await row('an error has ended the turn').waitFor()
  await done(page)
}, 90_000)
