// The vault and the trimmed resume on the page: a deleted session is marked and restored, the retention of Claude Code is shown and
// changed, the size is in the settings, and a cold session continues in a trimmed copy.
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { claudeBinary } from '../support/claude-home.ts'
import { makeCorpus, type CorpusSession } from '../support/corpus.ts'
import { hasChromium, openDashboard, type DashboardHouse } from '../support/dashboard-house.ts'
import { problemsOf } from '../support/dashboard-looks.ts'
import { recordSession } from '../support/recorded-sessions.ts'

const missing =
  hasChromium && existsSync(claudeBinary) ? undefined : 'chromium or the Claude binary is missing'
const day = 86_400
let house: DashboardHouse
let sessions: CorpusSession[]

beforeAll(async () => {
  if (missing) return
  house = await openDashboard({
    before: (home) => {
      mkdirSync(home.configDir, { recursive: true })
      ;({ sessions } = makeCorpus({ configDir: home.configDir, files: 2, bytes: 200_000 }))
      const now = Date.now() / 1000
      for (const [i, { file }] of sessions.entries()) utimesSync(file, now, i === 1 ? now - 26 * day : now)
    },
  })
})
beforeEach((ctx) => {
  if (missing) ctx.skip(missing)
})
afterAll(() => house?.close())

test('a session that Claude Code deleted is marked in the list and in its view, and one press restores it', async () => {
  const [first] = sessions as [CorpusSession]
  const original = readFileSync(first.file)
  await house.call('vault.keep', {})
  rmSync(first.file)
  const page = await house.open('/all')
  const row = page.locator('.row', { hasText: first.firstMessage.split(':')[0]! })
  await row.locator('.chip', { hasText: 'kept' }).waitFor()
  await row.locator('a').click()
  await page.getByText('Claude Code has deleted this session').waitFor()
  expect(await problemsOf(page)).toEqual([])
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByText('Claude Code has deleted this session').waitFor({ state: 'detached' })
  expect(readFileSync(first.file).equals(original)).toBe(true)
  await row.locator('.chip', { hasText: 'kept' }).waitFor({ state: 'detached' })
  await page.context().close()
})

test('the settings say how large the vault is and what Claude Code will delete, and change that after showing it', async () => {
  const settings = join(house.home.configDir, 'settings.json')
  const before = existsSync(settings) ? readFileSync(settings, 'utf8') : undefined
  const page = await house.open('/settings')
  const panel = page.getByRole('region', { name: 'Vault' })
  await panel.getByText(/Keeps 2 sessions in .* of at most 20 GB/).waitFor()
  await panel.getByText(/after 30 days \(its default\): 1 in the next 7 days, 1 of them kept/).waitFor()
  await panel.getByRole('button', { name: /keep them for a year/ }).click()
  await panel.getByText('"cleanupPeriodDays": 365').waitFor()
  expect(existsSync(settings) ? readFileSync(settings, 'utf8') : undefined).toBe(before)
  expect(await problemsOf(page)).toEqual([])
  await panel.getByRole('button', { name: 'Write this file' }).click()
  await panel.getByText(/after 365 days: none in the next 7 days/).waitFor()
  expect(JSON.parse(readFileSync(settings, 'utf8'))).toMatchObject({ cleanupPeriodDays: 365 })
  await page.context().close()
})

test('a session with a cold cache is continued in a trimmed copy from its composer', async () => {
  const { sessionId, filePath } = await recordSession(house.home, house.api, 0)
  const asBefore = readFileSync(filePath, 'utf8')
  // As if it had been three hours ago.
  const older = asBefore.replaceAll(/"timestamp":"([^"]+)"/g, (_, time: string) => {
    return `"timestamp":"${new Date(Date.parse(time) - 3 * 3_600_000).toISOString()}"`
  })
  writeFileSync(filePath, older)
  const page = await house.open(`/session/${sessionId}`)
  const choice = page.locator('.trim-choice')
  await choice.getByText(/Trimmed copy \$.* instead of \$/).waitFor()
  await choice.getByRole('checkbox').check()
  house.api.script('What did we decide', [{ text: 'We continue from the notes.' }])
  await page.locator('.compose textarea').fill('What did we decide?')
  await page.locator('.compose textarea').press('Enter')
  await page.waitForURL(/\/coding\//)
  await page.getByText('We continue from the notes.').first().waitFor()
  const { sessions: coding } = await house.call<{ sessions: Array<{ claudeSessionId?: string }> }>(
    'coding.sessions',
    {},
  )
  const copy = coding[0]!.claudeSessionId!
  expect(copy).not.toBe(sessionId)
  expect(readFileSync(filePath.replace(sessionId, copy), 'utf8').length).toBeLessThan(older.length * 0.7)
  expect(readFileSync(filePath, 'utf8')).toBe(older)
  await page.context().close()
})
