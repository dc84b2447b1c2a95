// The cost of calls to a model, and the price of resuming a session.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { SessionPrice } from '../domain/selection.ts'
import type { TrimSaving } from '../domain/trim.ts'
import type { Usage } from '../domain/turn.ts'
import { factsOf, large, pricesOf, type ModelPrice, type Prices } from './model-prices.ts'
import { noUsage, type UsageRecord, type UsageTable } from './usage-table.ts'

/** A trim is offered, and done by itself where the owner allows it, only if it saves at least this share of the price. */
const worthwhileShare = 0.25

/** What the kinds of tokens of one call cost in dollars. */
type CallCost = Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', number>

/** The cost of one call to a model in dollars. */
export function callCost(model: string, usage: Usage): number {
  const { input, output, cacheRead, cacheWrite } = costOfParts(model, usage)
  return input + output + cacheRead + cacheWrite
}

/** The cost in dollars of each kind of tokens of one call. */
export function costOfParts(model: string, usage: Usage): CallCost {
  const promptTokens = usage.input + usage.cacheRead + usage.cacheWrite
  const price = pricesOf(model).ofCall({ promptTokens, fast: false })
  const h1 = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite)
  return {
    input: (usage.input * price.input) / 1_000_000,
    output: (usage.output * price.output) / 1_000_000,
    cacheRead: (usage.cacheRead * price.cacheRead) / 1_000_000,
    cacheWrite: ((usage.cacheWrite - h1) * price.cacheWrite5m + h1 * price.cacheWrite1h) / 1_000_000,
  }
}

/** The size of the model's context window; the long one if the context does not fit into the short one. */
export function contextWindowOf(model: string | undefined, contextTokens = 0): number {
  const { facts } = factsOf(model)
  const isLong = model?.endsWith('[1m]') === true || contextTokens > facts.contextWindow
  return isLong ? (facts.longestWindow ?? Math.max(facts.contextWindow, large)) : facts.contextWindow
}

/** The cost of all records of one file, even if other files repeat them. */
export function costOfFile(usage: UsageTable, models: string[]): { costUsd: number; costGuessed: boolean } {
  const prices = models.map((model) => pricesOf(model))
  const unknown = pricesOf(undefined)
  let costUsd = 0
  let costGuessed = false
  const record = noUsage()
  for (let i = 0; i < usage.length; i++) {
    usage.read(i, record)
    const price = prices[record.model] ?? unknown
    costUsd += costOfCall(record, price)
    costGuessed ||= price.guessed && record.reportedUsd === undefined
  }
  return { costUsd, costGuessed }
}

/** The cost of one call. The whole cache creation counts, even if its parts do not add up to it. */
export function costOfCall(record: UsageRecord, prices: Prices): number {
  const h1 = Math.min(record.cache1h, record.cacheCreation)
  return chargeFor(record, prices, Math.max(record.cache5m, record.cacheCreation - h1), h1)
}

/** The price of a call with this much cache creation for 5 minutes and for an hour. */
export function chargeFor(record: UsageRecord, prices: Prices, m5: number, h1: number): number {
  if (record.reportedUsd !== undefined) return record.reportedUsd
  const price = prices.ofCall({ promptTokens: record.input + record.cacheRead + m5 + h1, fast: record.fast })
  const millionths =
    record.input * price.input +
    record.output * price.output +
    record.cacheRead * price.cacheRead +
    m5 * price.cacheWrite5m +
    h1 * price.cacheWrite1h
  return millionths / 1_000_000
}

/** Claude Code's own prompt and tools, before the first message. */
const baseTokens = 16_000
/** A brief of an earlier session, and the summary that a compaction writes. */
const briefTokens = 1_500
const summaryTokens = 3_000

/**
 * The price of resuming a session: the tokens that its next call sends, with a warm or a cold cache. An estimate of the first
 * call, not of the task: what the model then writes costs the same everywhere.
 */
export function priceSession(
  session: DiscoveredSession,
  prices: (model: string | undefined) => Prices,
  now: number,
  { trim, nextModel }: { trim?: TrimSaving; nextModel?: string } = {},
): SessionPrice {
  const { contextTokens, lastAnswerTokens = 0 } = session
  const tokens = contextTokens + lastAnswerTokens
  const otherModel = session.model !== undefined && !session.model.includes(nextModel ?? '')
  const { guessed, ...model } = prices(otherModel ? nextModel : session.model)
  const price = model.ofCall({ promptTokens: tokens, fast: false })
  const afterwards = model.ofCall({ promptTokens: baseTokens + summaryTokens, fast: false })
  const cachedForMs = warmFor(session, now)
  const warmForMs = hasOurPrefix(session) && !otherModel ? cachedForMs : 0
  const usd = (count: number, perMillion: number): number => (count * perMillion) / 1_000_000
  // Claude Code writes what it sends into the cache again, with the same lifetime as before.
  const writing = (of: ModelPrice): number =>
    session.cacheTtlMinutes === 60 ? of.cacheWrite1h : of.cacheWrite5m
  // The last answer is sent for the first time, so it is not cached.
  const resumeUsd =
    warmForMs > 0
      ? usd(contextTokens, price.cacheRead) + usd(lastAnswerTokens, writing(price))
      : usd(tokens, writing(price))
  return {
    model: otherModel ? nextModel : session.model,
    guessed,
    tokens,
    cache: warmForMs > 0 ? 'warm' : 'cold',
    warmForMs: warmForMs > 0 ? warmForMs : undefined,
    sure: sureOf(session, now, otherModel),
    coldBecause:
      cachedForMs > warmForMs ? (otherModel ? `it continues with ${nextModel}` : otherPrefix) : undefined,
    resumesWith: hasOurPrefix(session) || session.agentKind !== 'claude' ? undefined : ourSettings,
    resumeUsd,
    // A fork begins with the same messages, so it uses the same cache.
    forkUsd: resumeUsd,
    trimmed:
      trim && trim.cuts > 0
        ? trimmedPrice(trim, lastAnswerTokens, {
            perMillion: writing(price),
            coldUsd: warmForMs > 0 ? undefined : resumeUsd,
          })
        : undefined,
    compactThenResumeUsd:
      resumeUsd + usd(summaryTokens, price.output) + usd(baseTokens + summaryTokens, writing(afterwards)),
    freshUsd: usd(baseTokens + briefTokens, writing(afterwards)),
    furtherCallUsd: usd(tokens, price.cacheRead),
  }
}

const otherPrefix = 'Claude Code started it with other tools than Rockpool sends'

export const ourSettings =
  "it continues with Rockpool's tools and settings, not with those that it was started with"

/** A cache serves only a request that begins with the same tools and system prompt: the last call must have been ours. */
export function hasOurPrefix(session: Partial<Pick<DiscoveredSession, 'source' | 'entrypoint'>>): boolean {
  const { source, entrypoint } = session
  return source === 'rockpool' && entrypoint === 'sdk-ts'
}

/** A copy differs from the first cut on, so no cache serves it. It is offered when the cache is cold and it saves at least a
 *  quarter. */
function trimmedPrice(
  { level, cuts, tokensAfter }: TrimSaving,
  lastAnswerTokens: number,
  { perMillion, coldUsd }: { perMillion: number; coldUsd: number | undefined },
): SessionPrice['trimmed'] {
  const tokens = tokensAfter + lastAnswerTokens
  const usd = (tokens * perMillion) / 1_000_000
  return {
    level,
    cuts,
    tokens,
    usd,
    offered: coldUsd !== undefined && usd <= coldUsd * (1 - worthwhileShare),
  }
}

/** How sure the prediction of the cache is. In real files 97 % of resumes after an hour were cold, and a cache in use was
 *  sometimes dropped before its time. */
function sureOf(session: DiscoveredSession, now: number, otherModel: boolean): number {
  const { lastUsageAt, cacheTtlMinutes } = session
  // No call, no cache write, or another model: there is nothing that could be warm.
  if (lastUsageAt === undefined || cacheTtlMinutes === 0 || otherModel) return 0.99
  const ttlMs = cacheTtlMinutes * 60_000
  const leftMs = warmFor(session, now)
  if (leftMs > 0) return hasOurPrefix(session) && leftMs > ttlMs / 5 ? 0.95 : 0.8
  return now - lastUsageAt.getTime() >= 3_600_000 ? 0.97 : 0.85
}

function warmFor(session: DiscoveredSession, now: number): number {
  if (session.lastUsageAt === undefined) return 0
  return Math.max(0, session.lastUsageAt.getTime() + session.cacheTtlMinutes * 60_000 - now)
}
