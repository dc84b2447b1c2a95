import { expect, test } from 'vitest'
import { reportCosts, type FileUsage } from './cost.ts'
import { noUsage, UsageTable } from './usage-table.ts'

test('what a session cost before Rockpool continued it counts as outside of Rockpool', () => {
  const usage = new UsageTable()
  // $3 for a million tokens that the model read.
  const call = (hashLow: number, seconds: number, input: number): void =>
    void usage.put({ ...noUsage(), hashLow, seconds, input })
  call(1, 1_000, 100_000)
  call(2, 2_000, 200_000)
  const file: FileUsage = {
    usage,
    models: ['claude-sonnet-4-5-20250929'],
    sessionId: 'a',
    sessionName: 'a',
    repoPath: '/repo',
    agentId: 'main',
    agentKind: 'claude',
    part: 'codingUsd',
    // Within the second of its first call.
    partSince: 2_000_400,
  }
  const { parts } = reportCosts([file], {}, String)
  expect(parts.nativeUsd).toBeCloseTo(0.3, 9)
  expect(parts.codingUsd).toBeCloseTo(0.6, 9)
  expect(parts.chatsUsd).toBe(0)
})
