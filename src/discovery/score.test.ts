import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { scoreSession } from './score.ts'

const now = Date.UTC(2026, 10, 15)
const hour = 3_600_000

/** A session of this moment, on the current branch, about the same thing; and what the test is about on top. */
function score(
  about: Partial<DiscoveredSession> & { ageMs?: number } = {},
  relevance = 1,
  maxBudgetUsd?: number,
) {
  const { ageMs = 0, ...rest } = about
  const session = discoveredSession({ branch: 'main', lastModified: new Date(now - ageMs), ...rest })
  return scoreSession(session, {
    currentBranch: 'main',
    relevance: { sessionId: session.sessionId, relevance, reasoning: 'because' },
    now,
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
  })
}

test('everything in favour gives exactly 1', () => {
  expect(score()).toMatchObject({
    total: 1,
    factors: { branch: 0.25, recency: 0.2, relevance: 0.25, health: 0.15, capacity: 0.15 },
  })
})

test('the branch scores 0.25, and no branch matches no branch', () => {
  expect(score({ branch: 'main' }).factors.branch).toBe(0.25)
  expect(score({ branch: 'other' }).factors.branch).toBe(0)
  const nowhere = (branch: string) =>
    scoreSession(discoveredSession({ branch }), {
      currentBranch: branch,
      relevance: { sessionId: '', relevance: 0, reasoning: '' },
      now,
    }).factors.branch
  expect(nowhere('')).toBe(0)
  expect(nowhere('HEAD')).toBe(0)
})

describe('recency', () => {
  test.each([
    ['now', 0, 0.2],
    ['one hour less a moment', hour - 1, 0.2],
    ['one hour', hour, 0.16],
    ['six hours less a moment', 6 * hour - 1, 0.16],
    ['six hours', 6 * hour, 0.12],
    ['a day less a moment', 24 * hour - 1, 0.12],
    ['a day', 24 * hour, 0.08],
    ['three days less a moment', 72 * hour - 1, 0.08],
    ['three days', 72 * hour, 0.04],
    ['a week less a moment', 168 * hour - 1, 0.04],
    ['a week', 168 * hour, 0],
    ['a year', 8_760 * hour, 0],
    ['a clock that is ahead', -hour, 0.2],
  ])('%s', (_words, ageMs, expected) => {
    expect(score({ ageMs }).factors.recency).toBe(expected)
  })
})

describe('task relevance', () => {
  test.each([
    [1, 0.25],
    [0.6, 0.25],
    [0.59, 0.25],
    [0.58, 0.24],
    [0.5, 0.2],
    [0.45, 0.18],
    [0.4, 0.15],
    [0.3, 0.1],
    [0.29, 0],
    [0.1, 0],
    [0.099, -0.15],
    [0, -0.15],
  ])('%d adds %d', (relevance, expected) => {
    expect(score({}, relevance).factors.relevance).toBe(expected)
  })
})

describe('session health', () => {
  test.each([
    ['500 messages', { messageCount: 500 }, 0.15],
    ['501 messages', { messageCount: 501 }, 0.08],
    ['5 MB', { fileSizeBytes: 5_000_000 }, 0.15],
    ['more than 5 MB', { fileSizeBytes: 5_000_001 }, 0.11],
    ['a week old', { ageMs: 168 * hour }, 0.15],
    ['more than a week old', { ageMs: 168 * hour + 1 }, 0.11],
    ['all three', { messageCount: 501, fileSizeBytes: 5_000_001, ageMs: 169 * hour }, 0],
  ])('%s', (_words, about, expected) => {
    expect(score(about).factors.health).toBe(expected)
  })
})

describe('context capacity', () => {
  test.each([
    ['no compaction', {}, 0.15],
    ['1 compaction', { compactionCount: 1 }, 0.11],
    ['2 compactions', { compactionCount: 2 }, 0.06],
    ['30% of the budget', { budgetUsedPct: 0.3 }, 0.15],
    ['31% of the budget', { budgetUsedPct: 0.31 }, 0.13],
    ['50% of the budget', { budgetUsedPct: 0.5 }, 0.13],
    ['51% of the budget', { budgetUsedPct: 0.51 }, 0.11],
    ['4000 tokens a message', { messageCount: 10, totalInputTokens: 39_000, totalOutputTokens: 1_000 }, 0.15],
    [
      'more than 4000 tokens a message',
      { messageCount: 10, totalInputTokens: 39_001, totalOutputTokens: 1_000 },
      0.12,
    ],
    ['cache tokens do not count', { messageCount: 1, cacheReadTokens: 9_000_000 }, 0.15],
    ['no messages', { messageCount: 0, totalInputTokens: 100 }, 0.15],
    [
      'everything at once does not go below zero',
      { compactionCount: 2, budgetUsedPct: 0.6, messageCount: 1, totalInputTokens: 9_000 },
      0,
    ],
  ])('%s', (_words, about, expected) => {
    expect(score(about).factors.capacity).toBe(expected)
  })
})

describe('the share of the budget is really computed', () => {
  test.each([
    ['what a registry says it cost', { totalCostUsd: 4, costUsd: 99 }, 10, 0.13],
    ['what its files say it cost', { costUsd: 6 }, 10, 0.11],
    ['its own share, when no budget is given', { costUsd: 6, budgetUsedPct: 0.1 }, undefined, 0.15],
    ['the budget that is given wins', { costUsd: 1, budgetUsedPct: 0.69 }, 10, 0.15],
  ])('%s', (_words, about, maxBudgetUsd, capacity) => {
    expect(score(about, 1, maxBudgetUsd).factors.capacity).toBe(capacity)
  })
})

describe('ceilings', () => {
  test.each([
    ['2 compactions', { compactionCount: 2 }, 1, undefined, false],
    ['3 compactions', { compactionCount: 3 }, 1, undefined, true],
    ['30 compactions', { compactionCount: 30 }, 1, undefined, true],
    ['69% of the budget', { costUsd: 6.9 }, 1, 10, false],
    ['70% of the budget', { costUsd: 7 }, 1, 10, true],
    ['70% that floating point makes a little less', { costUsd: 0.7 * 3 }, 1, 3, true],
    ['70% by its own count', { budgetUsedPct: 0.7 }, 1, undefined, true],
    ['unrelated, 200 messages', { messageCount: 200 }, 0.09, undefined, false],
    ['unrelated, 201 messages', { messageCount: 201 }, 0.09, undefined, true],
    ['hardly related, 201 messages', { messageCount: 201 }, 0.1, undefined, false],
  ])('%s', (_words, about, relevance, budget, stopped) => {
    const found = score(about, relevance, budget)
    expect(found.ceiling !== undefined).toBe(stopped)
    if (stopped) expect(found.total).toBe(0)
  })
})

test('an unrelated session of the same branch scores exactly 0.60', () => {
  expect(score({}, 0).total).toBe(0.6)
})

test('the total is never below zero, and always whole hundredths', () => {
  expect(
    score(
      { branch: 'x', ageMs: 200 * hour, messageCount: 150, fileSizeBytes: 6_000_000, compactionCount: 2 },
      0,
    ).total,
  ).toBe(0)
  fc.assert(
    fc.property(
      fc.record({
        branch: fc.constantFrom('main', 'other'),
        ageMs: fc.integer({ min: 0, max: 400 * hour }),
        messageCount: fc.integer({ min: 0, max: 1_000 }),
        fileSizeBytes: fc.integer({ min: 0, max: 10_000_000 }),
        compactionCount: fc.integer({ min: 0, max: 4 }),
        costUsd: fc.double({ min: 0, max: 10, noNaN: true }),
        totalInputTokens: fc.integer({ min: 0, max: 1_000_000 }),
      }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (about, relevance) => {
        const { total, factors } = score(about, relevance, 10)
        expect(total).toBeGreaterThanOrEqual(0)
        expect(total).toBeLessThanOrEqual(1)
        for (const number of [total, ...Object.values(factors)])
          expect(Math.round(number * 100) / 100).toBe(number)
      },
    ),
  )
})

test('the reason says in words what the numbers say', () => {
  expect(score({ compactionCount: 1 }).reason).toBe('same branch, recent, related (because), compacted 1x')
  expect(score({ branch: 'x', ageMs: 200 * hour }, 0).reason).toBe(
    'other branch, older than a week, unrelated (because)',
  )
  expect(score({ compactionCount: 3 }).reason).toBe('compacted 3 times: too little of the context is left')
})
