// What Claude Code itself expects of the prompt cache when a session is resumed in a terminal: a second opinion beside our own
// prediction (discovery/price-table.ts). Only sessions with Rockpool's plugin report it.
import type { ClaudeHookContributor } from './claude-hook.ts'
import type { Clock } from './clock.ts'
import type { SessionPrice } from './selection.ts'

interface CacheOpinion {
  isExpired: boolean
  /** The cost of writing the cache again, by Claude Code's estimate. */
  writeUsd?: number
  at: number
}

/** The last opinion about each session since the start of the gateway. */
export class CacheOpinions {
  readonly #bySession = new Map<string, CacheOpinion>()

  of(sessionId: string): CacheOpinion | undefined {
    return this.#bySession.get(sessionId)
  }

  contributor(clock: Clock): ClaudeHookContributor {
    return {
      name: 'cache opinions',
      events: ['SessionStart', 'SessionEnd'],
      answer: async ({ name, sessionId, isCacheLikelyExpired: isExpired, cacheWriteUsd: writeUsd }) => {
        if (name === 'SessionEnd') this.#bySession.delete(sessionId)
        else if (isExpired !== undefined)
          this.#bySession.set(sessionId, { isExpired, writeUsd, at: clock.now() })
        return undefined
      },
    }
  }
}

/** The price with Claude Code's opinion, which counts until the next call to the model. */
export function withOpinion(
  price: SessionPrice,
  opinion: CacheOpinion | undefined,
  lastUsageAt: Date | undefined,
): SessionPrice {
  if (!opinion || (lastUsageAt && lastUsageAt.getTime() > opinion.at)) return price
  const cache = opinion.isExpired ? 'cold' : 'warm'
  const secondOpinion = { cache, writeUsd: opinion.writeUsd } as const
  // Rockpool cannot use a cache of the terminal, so there is nothing to agree on.
  if (price.coldBecause !== undefined) return { ...price, secondOpinion }
  return { ...price, secondOpinion, sure: cache === price.cache ? 0.99 : 0.5 }
}
