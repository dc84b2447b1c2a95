import { expect, test } from 'vitest'
import { LiveReports } from './live-reports.ts'
import type { LiveReport } from './live-reports.ts'
import type { LiveSession } from './registries.ts'

const waiting: LiveSession = {
  sessionId: 's',
  pid: 1,
  status: 'waiting',
  waitingFor: 'permission prompt',
  statusAt: 10,
}

test.each<[what: string, LiveReport, Partial<LiveSession> | undefined]>([
  ['a newer report wins', { status: 'busy', at: 11 }, { status: 'busy', waitingFor: undefined }],
  [
    'an older report loses',
    { status: 'busy', at: 9 },
    { status: 'waiting', waitingFor: 'permission prompt' },
  ],
  [
    'a report of the same dialog says what it asks',
    { status: 'waiting', waitingFor: 'npm test', at: 9 },
    { waitingFor: 'npm test' },
  ],
  [
    'what an older report says beyond the same status is kept',
    { status: 'waiting', stateText: 'compacts its context', at: 9 },
    { waitingFor: 'permission prompt', stateText: 'compacts its context' },
  ],
  ['a session that reported its end is gone', { status: 'ended', at: 11 }, undefined],
])('%s', (_, report, expected) => {
  const reports = new LiveReports()
  reports.add('s', report)
  const live = reports.applyTo(new Map([['s', waiting]])).get('s')
  if (expected) expect(live).toMatchObject(expected)
  else expect(live).toBeUndefined()
})

test('a report does not make a session live', () => {
  const reports = new LiveReports()
  reports.add('s', { status: 'busy', at: 11 })
  expect(reports.applyTo(new Map()).size).toBe(0)
})
