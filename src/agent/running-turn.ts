// A turn while it runs: which prompts it has to deal with, what came of it so far, and who is told.
import type { Prompt } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { TurnEnd, TurnEvent, TurnResult } from '../domain/turn.ts'
import type { StreamItem } from './claude-events.ts'
import type { FinishContext } from './turn-tally.ts'
import { TurnTally } from './turn-tally.ts'

export class RunningTurn {
  readonly result: Promise<TurnResult>
  readonly resolve: (result: TurnResult) => void
  /** How it ends whatever Claude says, when we ended it. */
  verdict: TurnEnd | undefined
  /** Claude took the first prompt up. */
  started = false
  /** Somebody wants it stopped. */
  stopped = false
  #prompts = new Set<string>()
  #unsettled = new Set<string>()
  #queued = 0
  #tally = new TurnTally()
  #announced = false
  #startedAt: number
  #clock: Clock
  #onEvent: (event: TurnEvent) => void

  constructor(prompt: Prompt | undefined, onEvent: (event: TurnEvent) => void, clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<TurnResult>()
    this.result = promise
    this.resolve = resolve
    this.#onEvent = onEvent
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    if (prompt) this.add(prompt)
  }

  add(prompt: Prompt): void {
    this.#prompts.add(prompt.uuid)
    this.#unsettled.add(prompt.uuid)
  }

  has(uuid: string): boolean {
    return this.#prompts.has(uuid)
  }

  settle(uuid: string): void {
    this.#unsettled.delete(uuid)
  }

  /** Claude says that nothing waits any more; older programs do not say what they dealt with. */
  settleAll(): void {
    this.#unsettled.clear()
  }

  begin(before: RunningTurn | undefined): void {
    this.started = true
    if (before) this.#tally = before.#tally
  }

  get openTools(): number {
    return this.#tally.openTools
  }

  take(item: StreamItem, now: number): void {
    this.#tally.add(item, now)
    if (item.is === 'result') {
      this.#queued = item.result.queued
      for (const uuid of item.result.prompts) this.settle(uuid)
    }
    if (item.is !== 'event') return
    // Claude announces itself again after a compaction; for us it is still the same turn.
    if (item.event.type === 'turn-start' && this.#announced) return
    this.#announced ||= item.event.type === 'turn-start'
    this.#onEvent(item.event)
  }

  /** Claude said how it ended, and every prompt was dealt with. */
  isOver(saysPrompts: boolean): boolean {
    if (!this.#tally.hasResult) return false
    return saysPrompts ? this.#unsettled.size === 0 : this.#queued === 0
  }

  finish(about: Omit<FinishContext, 'durationMs'>): TurnResult {
    const durationMs = this.#clock.monotonic() - this.#startedAt
    const result = this.#tally.finish({ ...about, verdict: about.verdict ?? this.verdict, durationMs })
    const dealtWith = [...this.#prompts].filter((uuid) => !this.#unsettled.has(uuid))
    return { ...result, prompts: [...new Set([...dealtWith, ...result.prompts])] }
  }
}
