// The price of resuming a session: the tokens that its next call sends, at the price of a warm or a cold cache.
// Estimates of the first step, not of the task: what the model then writes costs the same everywhere.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { SessionPrice } from '../domain/selection.ts'

/** Dollars for a million tokens. */
export interface ModelPrice {
  input: number
  output: number
  cacheRead: number
  /** Writing to a cache that lives five minutes, and one that lives an hour. */
  cacheWrite5m: number
  cacheWrite1h: number
}

/** What a model charges; long prompts and fast mode have prices of their own. */
export type PriceTable = (model: string | undefined) => {
  guessed: boolean
  ofCall(call: { promptTokens: number; fast: boolean }): ModelPrice
}

/** Claude Code's own prompt and tools, before anything is said. */
const baseTokens = 16_000
/** A brief of an earlier session, and the summary that a compaction writes. */
const briefTokens = 1_500
const summaryTokens = 3_000

export function priceSession(session: DiscoveredSession, prices: PriceTable, now: number): SessionPrice {
  const { contextTokens, lastAnswerTokens = 0 } = session
  const tokens = contextTokens + lastAnswerTokens
  const { guessed, ...model } = prices(session.model)
  const price = model.ofCall({ promptTokens: tokens, fast: false })
  const afterwards = model.ofCall({ promptTokens: baseTokens + summaryTokens, fast: false })
  const cachedForMs = warmFor(session, now)
  const warmForMs = hasOurPrefix(session) ? cachedForMs : 0
  const usd = (count: number, perMillion: number): number => (count * perMillion) / 1_000_000
  // Claude Code writes what it sends into the cache again, for as long as it did before.
  const writing = (of: ModelPrice): number =>
    session.cacheTtlMinutes === 60 ? of.cacheWrite1h : of.cacheWrite5m
  // The last answer is sent for the first time, so no cache has it.
  const resumeUsd =
    warmForMs > 0
      ? usd(contextTokens, price.cacheRead) + usd(lastAnswerTokens, writing(price))
      : usd(tokens, writing(price))
  return {
    model: session.model,
    guessed,
    tokens,
    cache: warmForMs > 0 ? 'warm' : 'cold',
    ...(warmForMs > 0 ? { warmForMs } : {}),
    ...(cachedForMs > warmForMs ? { coldBecause: otherPrefix } : {}),
    ...(hasOurPrefix(session) ? {} : { resumesWith: ourSettings }),
    resumeUsd,
    // A fork begins with the same words, so it finds the same cache.
    forkUsd: resumeUsd,
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
export function hasOurPrefix({
  source,
  entrypoint,
}: Partial<Pick<DiscoveredSession, 'source' | 'entrypoint'>>): boolean {
  return source === 'rockpool' && entrypoint === 'sdk-ts'
}

function warmFor(session: DiscoveredSession, now: number): number {
  if (session.lastUsageAt === undefined) return 0
  return Math.max(0, session.lastUsageAt.getTime() + session.cacheTtlMinutes * 60_000 - now)
}
