// What a coding session costs, while it runs: each call to the model counts as soon as it is reported, sub-agents' calls
// too. When a turn is over, Claude's own total is the truth.
import type { CodingSession } from '../../domain/coding-session.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import type { CodingParts } from '../coding-parts.ts'
import type { LiveRecord } from '../session/live-record.ts'

export class Meter {
  #parts: Pick<CodingParts, 'spend' | 'priceOf' | 'dayOf' | 'clock'>
  #session: CodingSession
  #writes: LiveRecord['writes']
  #costBefore: number
  #calls = new Map<string, number>()
  #dearestUsd = 0

  constructor(
    parts: Pick<CodingParts, 'spend' | 'priceOf' | 'dayOf' | 'clock'>,
    { session, writes }: Pick<LiveRecord, 'session' | 'writes'>,
  ) {
    this.#parts = parts
    this.#session = session
    this.#writes = writes
    this.#costBefore = session.costUsd
  }

  get costUsd(): number {
    return this.#costBefore + this.#sum()
  }

  /** What the most expensive call has cost so far. */
  get dearestUsd(): number {
    return this.#dearestUsd
  }

  /** The same call may be reported again with more output; the larger report counts. */
  async report(event: Extract<TurnEvent, { type: 'usage' }>): Promise<void> {
    const usd = this.#parts.priceOf(event.model, event.usage)
    this.#calls.set(event.messageId, Math.max(usd, this.#calls.get(event.messageId) ?? 0))
    this.#dearestUsd = Math.max(usd, this.#dearestUsd)
    await this.#add(event.messageId, event.model, usd, event.subagent)
  }

  /** What the meter missed or guessed becomes one more row, so that sums over the rows stay true. */
  async settle(result: TurnResult, turnId: string): Promise<void> {
    const metered = this.#sum()
    const cost = result.costUsd > 0 ? result.costUsd : metered
    this.#calls.clear()
    this.#costBefore += cost
    if (Math.abs(cost - metered) > 1e-9)
      await this.#add(`turn:${turnId}`, result.model ?? '', cost - metered, false)
  }

  #sum(): number {
    return [...this.#calls.values()].reduce((total, usd) => total + usd, 0)
  }

  #add(id: string, model: string, usd: number, subagent: boolean): Promise<void> {
    const at = this.#parts.clock.now()
    const { workdir: repo, agentId } = this.#session.request
    const day = this.#parts.dayOf(at)
    const row = { id, at, day, codingId: this.#session.id, repo, agentId, model, usd, subagent }
    return this.#writes.insist(() => this.#parts.spend.add(row))
  }
}
