import { expect, test } from 'vitest'
import { printStatus } from './print-system.ts'

const page = { width: 120, color: false, now: 1_000_000 } as Parameters<typeof printStatus>[1]
const status = {
  version: '1',
  gateway: null,
  waiting: [],
  channels: [],
  sessions: { total: 0, recent: [] },
  coding: { running: [] },
  undelivered: [],
  cost: { todayUsd: 0, billing: 'none' as const },
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
