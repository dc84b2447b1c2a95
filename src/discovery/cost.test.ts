import { expect, test } from 'vitest'
import { reportCosts, type FileUsage } from './cost.ts'
import { costOfFile } from './price-table.ts'
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

test('a session costs the same in the list and in the costs, also when the parts of its cache creation contradict the total', () => {
  const usage = new UsageTable()
  const parts = [
    [0, 0],
    [4_000, 0],
    [4_000, 7_000],
    [0, 90_000],
  ] as const
  for (const [hashLow, [cache5m, cache1h]] of parts.entries())
    usage.put({ ...noUsage(), hashLow, cacheCreation: 9_000, cache5m, cache1h, itemised: true })
  usage.put({ ...noUsage(), hashLow: 100, cacheCreation: 9_000 })
  const models = ['claude-sonnet-4-5-20250929']
  const file: FileUsage = {
    usage,
    models,
    sessionId: 'a',
    sessionName: 'a',
    repoPath: '/repo',
    agentId: 'main',
    agentKind: 'claude',
    part: 'nativeUsd',
  }
  const { totals } = reportCosts([file], {}, String)
  expect(totals.cacheCreationTokens).toBe(4_000 + 11_000 + 90_000 + 9_000)
  expect(costOfFile(usage, models).costUsd).toBeCloseTo(totals.costUsd, 9)
})
