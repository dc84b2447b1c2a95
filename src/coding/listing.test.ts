import { expect, test } from 'vitest'
import { sessionStates } from '../domain/coding-state.ts'
import type { SessionState } from '../domain/coding-state.ts'
import { formatStats } from './listing.ts'

test('the figures count in the plural, and say what the waiting time adds up', () => {
  const none = Object.fromEntries(sessionStates.map((state) => [state, 0])) as Record<SessionState, number>
  const text = formatStats({
    totalCostUsd: 0,
    costPerDay: {},
    sessionsByStatus: { running: 3, completed: 0, failed: 0, killed: 0 },
    sessionsByState: { ...none, 'needs you': 3 },
    totalLaunched: 3,
    totalDurationMs: 0,
    sessionsWithDuration: 0,
    averageDurationMs: 0,
    waitedMs: 6_600_000,
  })
  expect(text.split('\n').slice(0, 2)).toEqual([
    'Launched 3, 3 need you',
    'Waits for people, added up over all sessions: 1h50m',
  ])
})
