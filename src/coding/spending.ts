// What a running session spends: each call is metered when it is reported, and the next one is held at a limit. Near a limit
// only so many calls are let through as there is room for, so that sub-agents side by side do not each go beyond it.
import type { BeforeTool } from '../domain/agent.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import { leftUsd } from './budget.ts'
import { CallsUnderWay, ownCalls } from './calls-under-way.ts'
import type { LiveRecord } from './live-record.ts'
import { Meter } from './meter.ts'
import type { CodingParts } from './parts.ts'

const priceWithinMs = 1_000

/** Waits while a limit is reached; resolves to a refusal when nobody raises it. */
type Hold = (signal: AbortSignal) => Promise<string | undefined>

export class Spending {
  #parts: CodingParts
  #record: LiveRecord
  #hold: Hold
  #meter: Meter
  #calls: CallsUnderWay
  #metering: Promise<void> = Promise.resolve()
  /** Is the cost of the session's own last call known? */
  #isPriced = true

  constructor(parts: CodingParts, record: LiveRecord, hold: Hold) {
    this.#parts = parts
    this.#record = record
    this.#hold = hold
    this.#meter = new Meter(parts, record.session)
    this.#calls = new CallsUnderWay(parts.clock)
  }

  get costUsd(): number {
    return this.#meter.costUsd
  }

  /** Resolves when what was metered up to now is on disk: limits are sums over it. */
  get metered(): Promise<void> {
    return this.#metering
  }

  report(event: Extract<TurnEvent, { type: 'usage' }>): void {
    this.#metering = this.#record.settle(this.#meter.report(event))
    this.#record.later({ costUsd: this.#meter.costUsd })
    if (!event.subagent) this.#isPriced = true
    void this.#metering.then(() => this.#calls.changed())
  }

  turnBegan(): void {
    this.#begin(ownCalls)
  }

  async turnOver(result: TurnResult, turnId: string): Promise<void> {
    this.#calls.clear()
    await this.#meter.settle(result, turnId)
  }

  /** Before a tool, and before the model is called again. Resolves to a refusal when it may cost no more. */
  async beforeTool(at: Parameters<BeforeTool>[0], signal: AbortSignal): Promise<string | undefined> {
    const agent = at.subagentId ?? ownCalls
    if (agent === ownCalls && leadsToCall(at)) await this.#priced(signal)
    this.#calls.over(agent)
    if (agent === ownCalls && at.name === undefined) this.#calls.startersDone()
    for (;;) {
      const refusal = await this.#hold(signal)
      if (refusal !== undefined || signal.aborted || !leadsToCall(at)) return refusal
      if (this.#hasRoom() || !(await this.#calls.change(signal))) break
    }
    if (at.name === undefined) this.#begin(agent)
    else this.#calls.beginFirst(at.toolUseId ?? '')
    return undefined
  }

  #begin(agent: string): void {
    this.#calls.begin(agent)
    if (agent === ownCalls) this.#isPriced = false
  }

  /** A tool begins before the call that asked for it is over; what that cost is known a moment later. */
  async #priced(signal: AbortSignal): Promise<void> {
    while (!this.#isPriced && !signal.aborted) if (!(await this.#calls.change(signal, priceWithinMs))) return
  }

  /** One may always go on; more only when all of them, as dear as the dearest so far, stay below the limit. */
  #hasRoom(): boolean {
    const { count } = this.#calls
    if (count === 0) return true
    const { spend, config, clock, dayOf } = this.#parts
    const left = leftUsd(this.#record.session, spend, config.budgets, dayOf(clock.now()))
    return count * this.#meter.dearestUsd < left
  }
}

/** A tool leads to no call by itself, except the one that starts a sub-agent. */
function leadsToCall({ name, isDone }: Parameters<BeforeTool>[0]): boolean {
  return name === undefined ? isDone !== true : name === 'Agent' || name === 'Task'
}
