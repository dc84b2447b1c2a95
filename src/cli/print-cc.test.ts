import { join } from 'node:path'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { openDiscovery } from '../discovery/discovery.ts'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import { toRecord } from '../operations/cc/cc-list.ts'
import { cellWidth } from './print.ts'
import { findPrinter } from './printers.ts'

const printList = await findPrinter('cc.list')
const printInfo = await findPrinter('cc.info')
const printCosts = await findPrinter('cc.costs')

const state = mkdtempSync(join(tmpdir(), 'rockpool-print-'))
const discovery = openDiscovery({
  configDirs: [join(import.meta.dirname, '../../test/fixtures/claude-code')],
  indexFile: join(state, 'index.sqlite'),
  registries: [],
  clock: systemClock,
  log: silentLog,
  timeZone: 'UTC',
})
afterAll(async () => {
  await discovery.close()
  rmSync(state, { recursive: true })
})

const page = { width: 100, color: false, now: Date.parse('2026-11-15T20:00:00Z') }
const { total, sessions } = await discovery.list()
const rows = sessions.map(toRecord)
const hostile = [
  ['that writes to the clipboard', '\x1b]52;c;ZXZpbA==\x07'],
  ['that is a link', '\x1b]8;;http://evil\x07click'],
  ['that clears the screen', '\x1b[2J'],
  ['that sets a colour in one byte', '\x9b31mred'],
  ['that begins a picture', '\x1bPq\x1b\\'],
  ['that ends in an escape', 'end\x1b'],
  ['that overwrites itself', 'over\rwritten'],
  ['that rings a thousand times', '\x07'.repeat(1000)],
  ['that turns the writing around', 'abc\u202egpj.exe'],
] as const

test.each([56, 60, 80, 100, 160, 240])('the list fits a terminal of %i columns', (width) => {
  for (const line of printList({ total, sessions: rows }, { ...page, width }).split('\n'))
    expect(cellWidth(line)).toBeLessThanOrEqual(width)
})

test.each([96, 120])(
  'what the registry of OpenClaw says stands in the list, %i columns wide',
  async (width) => {
    const openclaw = { source: 'openclaw' as const, totalCostUsd: 1.25, totalTurns: 14 }
    const text = printList(
      { total: 2, sessions: [{ ...rows[0]!, ...openclaw }, rows[1]!] },
      { ...page, width },
    )
    expect(text).toMatch(/OPENCLAW/)
    expect(text).toContain(width === 96 ? '$1.25' : '$1.25, 14 turns')
    for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(width)
    const health = await discovery.health(rows[0]!.sessionId)
    const info = printInfo({ session: { ...rows[0]!, ...openclaw }, health }, page)
    expect(info).toMatch(/OpenClaw reports +\$1\.25, 14 turns/)
    expect(printList({ total: 1, sessions: [rows[1]!] }, { ...page, width })).not.toContain('OPENCLAW')
  },
)

test('a session that only the vault has is marked, with the command that restores it', () => {
  const kept = { ...rows[0]!, kept: true }
  expect(printList({ total: 1, sessions: [kept] }, page)).toMatch(/ kept\b/)
  expect(printInfo({ session: kept }, page)).toContain(`rockpool vault restore ${kept.sessionId.slice(0, 8)}`)
  expect(printInfo({ session: rows[0]! }, page)).not.toContain('vault restore')
})

test('the list says what runs, what it cost and how full its context is, and hides archived ones unless asked', () => {
  const text = printList({ total, sessions: rows }, { ...page, width: 160 })
  expect(text).toMatch(
    /native\/main\s+demo\s+main\s+Renamed demo session\s+\S.*\s9 min\s+2\s+\S+\s+<?\$0\.\d\d\s+9\.0k 5%\s+cold/,
  )
  expect(text).not.toContain('00000001 ')
  expect(text).toMatch(/\n1 archived session not shown; --all shows it, too\.$/)
  expect(printList({ total, sessions: rows }, { ...page, input: { all: true } })).toContain('00000001 ')
  const waiting = { ...rows[0]!, state: 'needs you' as const, waitingFor: 'permission prompt' }
  for (const width of [60, 80, 100, 120, 160]) {
    const text = printList({ total: 1, sessions: [waiting, ...rows.slice(0, 5)] }, { ...page, width })
    expect(text).toMatch(width === 60 ? /needs you +permission/ : /needs you +permission prompt/)
    for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(width)
  }
  expect(printList({ total: 0, sessions: [] }, page)).toMatch(/^No sessions of a coding agent\. .*cc launch/)
  expect(printList({ total: 0, sessions: [] }, { ...page, input: { search: 'nowhere' } })).toMatch(
    /^No session matches/,
  )
})

test('the counts of the list agree with its pages, and hidden archived sessions are counted', () => {
  const printed = (shown: typeof rows, input: object, more: object = {}): string =>
    printList({ total, sessions: shown, ...more }, { ...page, input: { ...input } })
  const current = rows.filter(({ archived }) => !archived)
  const archived = /\n1 archived session not shown; --all shows it, too\.$/
  expect(printed(current.slice(0, 20), {}, { total: 29, archivedLeftOut: 1 })).toMatch(
    /\n… and 9 more; [^\n]*/,
  )
  expect(printed(current, {}, { total: 29, archivedLeftOut: 1 })).toMatch(archived)
  expect(printed(rows, { repo: '/home' })).toMatch(archived)
  expect(printed(rows, { all: true })).not.toContain('not shown')
  expect(printed(rows.slice(0, 2), { limit: 2 })).toMatch(
    /\nSessions 1 to 2 of 30; --limit and --offset show others\.$/,
  )
  expect(printed(rows.slice(28), { offset: 28 })).toMatch(/ archived .*\nSessions 29 to 30 of 30; /)
  expect(printed(rows.slice(29), { offset: 29 })).toMatch(/\nSession 30 of 30; /)
})

test('what a resume does is wrapped at the width of the terminal', () => {
  const onResume =
    'it continues with the tools and settings of Rockpool, not with those that it was started with.'
  const text = printInfo({ session: rows[0]!, onResume }, { ...page, width: 60, interactive: true })
  const resume = text.slice(text.indexOf('Resume:')).split('\n')
  expect(resume.length).toBeGreaterThan(1)
  for (const line of resume) expect(cellWidth(line)).toBeLessThanOrEqual(60)
})

test('a narrow list names each session: by its title, or by its first message', () => {
  const text = printList({ total, sessions: rows }, { ...page, width: 60 })
  expect(text).toMatch(/Renamed/)
  expect(text).toMatch(/Review/)
})

test('text that programs put before a first message is not shown', () => {
  const firstMessage = '[openclaw:agent=main] System: web: connected\n\nFind papers about retries'
  const text = printList({ total: 1, sessions: [{ ...rows[0]!, firstMessage, title: undefined }] }, page)
  expect(text).toContain('Find papers')
  expect(text).not.toMatch(/System:|openclaw/)
})

test('the list says of which repository a session is, on any screen, unless it was asked for one', () => {
  for (const width of [60, 100, 160]) {
    expect(printList({ total, sessions: rows }, { ...page, width })).toMatch(/^ID +STATE .*REPO/)
  }
  expect(printList({ total, sessions: rows }, { ...page, input: { repo: '/home' } })).not.toContain('REPO')
})

test.each(hostile)('a title %s cannot drive the terminal', async (_what, title) => {
  const row = {
    ...rows[0]!,
    title,
    branch: title,
    waitingFor: title,
    state: 'needs you' as const,
    repoPath: title,
  }
  const health = await discovery.health(rows[0]!.sessionId)
  const report = await discovery.costs({ by: 'session' })
  const texts = [
    printList({ total: 1, sessions: [row] }, page),
    printInfo({ session: { ...row, firstMessage: title, label: title, model: title }, health }, page),
    printCosts({ ...report, by: report.by.map((line) => ({ ...line, name: title })) }, page),
  ]
  for (const text of texts) expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  if (title.includes('\u202e')) expect(texts[0]).toContain('\\u202e')
})

test('costs by session have the beginning of the id, which other commands take', async () => {
  const report = await discovery.costs({ by: 'session' })
  const { key } = report.by[0]!
  const by = [{ ...report.by[0]!, name: 'fix the login' }]
  expect(printCosts({ ...report, by }, { ...page, input: { by: 'session' } })).toContain(
    `${key.slice(0, 8)}  fix the login`,
  )
})

test('costs are bars that fit, the largest as long as there is room', async () => {
  const text = printCosts(await discovery.costs({ by: 'model' }), { ...page, width: 80 })
  const [bar] = text.split('\n')
  expect(bar).toMatch(/^claude-sonnet-4-5-20250929 {2}\$0\.65 {2}█+$/)
  expect(cellWidth(bar!)).toBeLessThanOrEqual(80)
  expect(text).toContain('API list prices of 2026-11-15')
})

test('days without spending have a line, too, the current one is marked, and tokens stand beside each amount', async () => {
  const now = Date.parse('2026-11-17T12:00:00Z')
  const wide = { ...page, width: 120, now, input: { by: 'day' } }
  const lines = printCosts(await discovery.costs({ by: 'day' }), wide).split('\n')
  expect(lines[0]).toMatch(/COST +IN +OUT +CACHE READ +WRITTEN$/)
  expect(lines[1]).toMatch(/^2026-11-15 +\$\d/)
  expect(lines[2]).toMatch(/^2026-11-16 +\$0\.00 +0 +0 +0 +0$/)
  expect(lines[3]).toMatch(/^2026-11-17 \(now\) +\$0\.00/)
})

test('a session whose folder is gone can be read only, and no price to resume it is named', () => {
  const price = {
    guessed: false,
    tokens: 1,
    cache: 'cold' as const,
    resumeUsd: 0.034,
    forkUsd: 0.034,
    compactThenResumeUsd: 1,
    freshUsd: 1,
    furtherCallUsd: 1,
  }
  const session = { ...rows[0]!, repoPath: '/srv/gone' }
  const onResume = 'It continues with other tools.'
  const text = printInfo({ session, price, onResume, folderGone: true }, page)
  expect(text).not.toContain('Resume:')
  expect(text).toContain(
    'Its folder /srv/gone no longer exists, so it can be read but not resumed or forked.',
  )
  expect(text).not.toContain('to continue')
  expect(printInfo({ session, price, folderGone: false }, page)).toContain('to continue')
  expect(printInfo({ session, onResume, folderGone: false }, page)).toContain(`Resume: ${onResume}`)
})
