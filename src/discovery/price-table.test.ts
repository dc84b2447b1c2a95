import { expect, test } from 'vitest'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { TrimSaving } from '../domain/trim.ts'
import { priceSession } from './price-table.ts'

const now = Date.UTC(2026, 10, 15)
const listPrice = { input: 3, output: 15, cacheRead: 0.3, cacheWrite5m: 3.75, cacheWrite1h: 6 }
const prices = () => ({ guessed: false, ofCall: () => listPrice })
/** The last call was ours, so a resume sends the same tools and system prompt. */
const ours = { source: 'rockpool', entrypoint: 'sdk-ts' } as const
const priced = (about: Partial<DiscoveredSession>) =>
  priceSession(discoveredSession({ contextTokens: 100_000, model: 'm', ...ours, ...about }), prices, now)

test('a warm session is resumed for a tenth of the input price', () => {
  const warm = priced({ lastUsageAt: new Date(now - 4 * 60_000), cacheTtlMinutes: 5 })
  expect(warm).toMatchObject({ cache: 'warm', warmForMs: 60_000, tokens: 100_000 })
  expect(warm.resumeUsd).toBeCloseTo(0.03, 10)
  expect(warm.forkUsd).toBe(warm.resumeUsd)
})

test('a cold one pays for the whole context again, by the kind of cache that it uses', () => {
  const cold = priced({ lastUsageAt: new Date(now - 5 * 60_000), cacheTtlMinutes: 5 })
  expect(cold.cache).toBe('cold')
  expect(cold.warmForMs).toBeUndefined()
  expect(cold.resumeUsd).toBeCloseTo(0.375, 10)
  const hourly = priced({ lastUsageAt: new Date(now - 61 * 60_000), cacheTtlMinutes: 60 })
  expect(hourly.resumeUsd).toBeCloseTo(0.6, 10)
  expect(priced({ lastUsageAt: new Date(now - 59 * 60_000), cacheTtlMinutes: 60 }).cache).toBe('warm')
})

test('a session that never asked a model is cold', () => {
  expect(priced({ cacheTtlMinutes: 0 }).cache).toBe('cold')
})

test('compacting first costs more now and less with every further call', () => {
  const cold = priced({})
  expect(cold.compactThenResumeUsd).toBeCloseTo(0.375 + 0.045 + (19_000 * 3.75) / 1e6, 10)
  expect(cold.freshUsd).toBeCloseTo((17_500 * 3.75) / 1e6, 10)
  expect(cold.furtherCallUsd).toBeCloseTo(0.03, 10)
})

test('a long prompt is priced as a long prompt, and what follows a compaction is short again', () => {
  const steps = (_model: string | undefined) => ({
    guessed: true,
    ofCall: ({ promptTokens }: { promptTokens: number }) =>
      promptTokens > 50_000 ? { ...listPrice, cacheWrite5m: 37.5 } : listPrice,
  })
  const found = priceSession(discoveredSession({ contextTokens: 100_000 }), steps, now)
  expect(found.guessed).toBe(true)
  expect(found.resumeUsd).toBeCloseTo(3.75, 10)
  expect(found.freshUsd).toBeCloseTo((17_500 * 3.75) / 1e6, 10)
})

test('a session that Claude Code used last is cold for us, whatever its cache holds, and the price says why', () => {
  const recent = { lastUsageAt: new Date(now - 60_000), cacheTtlMinutes: 5 as const }
  for (const about of [
    { source: 'native-only' as const },
    { entrypoint: 'cli' },
    { entrypoint: 'sdk-cli' },
  ]) {
    const cold = priced({ ...recent, ...about })
    expect(cold).toMatchObject({ cache: 'cold', coldBecause: expect.stringContaining('other tools') })
    expect(cold.resumesWith).toMatch(/Rockpool's tools and settings/)
    expect(cold.resumeUsd).toBeCloseTo(0.375, 10)
  }
  expect(priced({ cacheTtlMinutes: 5 }).coldBecause).toBeUndefined()
})

test('the last answer is sent, too, and no cache has it', () => {
  const about = { lastAnswerTokens: 10_000, cacheTtlMinutes: 5 as const }
  const warm = priced({ ...about, lastUsageAt: new Date(now - 60_000) })
  expect(warm.tokens).toBe(110_000)
  expect(warm.resumeUsd).toBeCloseTo(0.03 + 0.0375, 10)
  expect(priced(about).resumeUsd).toBeCloseTo(0.4125, 10)
})

test('a trimmed copy is priced cold, and is worthwhile when it saves a quarter of a cold resume', () => {
  const trim = { level: 'normal' as const, cuts: 9, tokensBefore: 100_000, tokensAfter: 50_000 }
  const about = { contextTokens: 100_000, model: 'm', lastAnswerTokens: 4_000, ...ours }
  const pricedWith = (saving: TrimSaving, lastUsageAt: Date) =>
    priceSession(discoveredSession({ ...about, lastUsageAt, cacheTtlMinutes: 5 }), prices, now, {
      trim: saving,
    })
  const cold = pricedWith(trim, new Date(now - 7_200_000))
  expect(cold.trimmed).toEqual({
    level: 'normal',
    cuts: 9,
    tokens: 54_000,
    usd: (54_000 * 3.75) / 1e6,
    offered: true,
  })
  const longAgo = new Date(now - 7_200_000)
  expect(pricedWith({ ...trim, tokensAfter: 80_000 }, longAgo).trimmed?.offered).toBe(false)
  expect(pricedWith(trim, new Date(now - 60_000)).trimmed?.offered).toBe(false)
  expect(pricedWith({ ...trim, cuts: 0 }, new Date(0)).trimmed).toBeUndefined()
})

test('the price says how sure the prediction of the cache is, and another model makes it cold', () => {
  const sure = (minutesAgo: number, cacheTtlMinutes: 5 | 60) =>
    priced({ lastUsageAt: new Date(now - minutesAgo * 60_000), cacheTtlMinutes }).sure
  expect([sure(1, 5), sure(4.5, 5), sure(7, 5), sure(120, 5), sure(30, 60), sure(61, 60)]).toEqual([
    0.95, 0.8, 0.85, 0.97, 0.95, 0.97,
  ])
  expect(priced({ cacheTtlMinutes: 0 }).sure).toBe(0.99)
  const session = { contextTokens: 100_000, model: 'claude-opus-5', ...ours, cacheTtlMinutes: 60 as const }
  const recent = discoveredSession({ ...session, lastUsageAt: new Date(now - 60_000) })
  expect(priceSession(recent, prices, now, { nextModel: 'opus-5' }).cache).toBe('warm')
  expect(priceSession(recent, prices, now, { nextModel: 'claude-haiku-4-5' })).toMatchObject({
    cache: 'cold',
    sure: 0.99,
    model: 'claude-haiku-4-5',
    coldBecause: 'it continues with claude-haiku-4-5',
  })
})
