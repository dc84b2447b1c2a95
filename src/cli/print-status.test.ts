import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printStatus = await findPrinter('status')
const printDatabase = await findPrinter('db.status')
const page = { width: 120, color: false, now: 1_000_000 }
const status = {
  version: '1',
  gateway: null,
  waiting: [],
  channels: [],
  sessions: { total: 0, recent: [] },
  coding: { running: [], limited: [], continuesAfterLimit: false },
  undelivered: [],
  usage: [],
  cost: {
    todayUsd: 0,
    parts: { chatsUsd: 0, codingUsd: 0, nativeUsd: 0 },
    billing: 'none' as const,
  },
  claude: { connected: true, source: 'ANTHROPIC_API_KEY' },
}
const database = { place: 'one,two/db', server: 'two/db', since: 940_000, slow: 0 }

test('status says how the shared database is: which server, what was slow, since when it is away', () => {
  const shown = (more: object): string | undefined =>
    printStatus({ ...status, database: { ...database, state: 'connected', ...more } }, page)
      .split('\n')
      .find((line) => line.startsWith('Database'))
      ?.replace(/^Database\s+/, '')
  expect(shown({})).toBe('connected, two/db of one,two/db')
  const lastSlow = { at: 700_000, ms: 2_300, statement: 'SELECT 1' }
  expect(shown({ slow: 3, lastSlow })).toBe('connected, 3 slow, the last 2 s 5 min ago, two/db of one,two/db')
  expect(shown({ state: 'lost', lastError: 'ECONNREFUSED' })).toMatch(
    /^away \(1 min ago: ECONNREFUSED\), two/,
  )
})

test('status names the session that needs you, and what it wants', () => {
  const asked = { kind: 'tool', id: 'f5d3dbd1', since: 940_000, about: 'wants to run a command: npm publish' }
  const shown = (name?: string) => printStatus({ ...status, waiting: [{ ...asked, name }] }, page)
  expect(shown('release')).toMatch(
    /needs you +release +f5d3dbd1 +1 min ago +wants to run a command: npm publish/,
  )
  expect(shown()).toMatch(/needs you +your agent +f5d3dbd1/)
})

test('status says of a session that waits for its repository that it is queued', () => {
  const row = {
    id: 'a',
    name: 'heron',
    status: 'running',
    state: 'working' as const,
    workdir: '/shop',
    costUsd: 0,
  }
  const running = [{ ...row, lifecycle: 'queued' }]
  const shown = printStatus({ ...status, coding: { ...status.coding, running } }, page)
  expect(shown).toMatch(/heron +working +\$0\.00 +shop +queued/)
})

test('db status says how the database is, what waits, and who is connected', () => {
  const { place, ...connection } = { ...database, state: 'connected', roundTripMs: 1.5 }
  const row = { machine: 'a', labels: [], serves: true, reach: ['telegram|default'], silentMs: 400 }
  const shown = printDatabase(
    {
      place,
      connection,
      schema: { version: 11, known: 11 },
      machines: [row, { ...row, serves: false, reach: [] }],
      waiting: { inputs: 2, turns: 1, deliveries: 3 },
    },
    page,
  )
  expect(shown).toMatch(/Database +connected, two\/db of one,two\/db/)
  expect(shown).toMatch(/Waiting +2 messages, 3 replies; 1 turns run/)
  expect(shown).toMatch(/a +gateway +400 ms ago +telegram\|default/)
  expect(shown).toMatch(/a +command/)
})

test('status names the sessions that a usage limit stopped, until when, and how they continue', () => {
  const limited = [{ id: 'a', name: 'heron', until: page.now + 7_200_000 }]
  const shown = (continuesAfterLimit: boolean): string =>
    printStatus({ ...status, coding: { running: [], limited, continuesAfterLimit } }, { ...page, width: 400 })
  expect(shown(false)).toMatch(
    /Limited +heron \(resets in 2 h\). They continue with their next message; by themselves after/,
  )
  expect(shown(true)).toContain('They continue by themselves after the reset.')
})

test('usage windows have a forecast, and colours are colours: hostile text has none', () => {
  const window = {
    window: 'five_hour',
    name: '5 hours',
    usedPercent: 62.4,
    state: 'nearly used',
    reportedAt: 940_000,
    forecast: 'at this pace the window ends at 16:40\u001b[2J',
  }
  const line = '62%, at this pace the window ends at 16:40\\x1b[2J (reported 1 min ago)'
  expect(printStatus({ ...status, usage: [window] }, page)).toContain(`Usage, 5 hours  ${line}`)
  const claude = { connected: false, hint: 'Run `rockpool login`.' }
  const colored = printStatus({ ...status, usage: [window], claude }, { ...page, color: true })
  expect(colored).toContain(`\u001b[33m${line}\u001b[39m`)
  expect(colored).toContain('\u001b[33mnot connected. Run `rockpool login`.\u001b[39m')
})
