// What a running session spends: each call is metered when it is reported, and the next one is held at a limit. Near a limit
// only so many calls are let through as there is room for, so that sub-agents side by side do not each go beyond it.
import type { BeforeTool } from '../../domain/agent.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import { leftUsd } from './budget.ts'
import { CallsUnderWay, ownCalls } from './calls-in-progress.ts'
import type { LiveRecord } from '../session/live-record.ts'
import { Meter } from './meter.ts'
import type { CodingParts } from '../coding-parts.ts'

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
  /** Calls of sub-agents whose cost is not known yet. */
  #unpriced = 0
  /** Whether what sub-agents' calls cost comes with them, or some time later. */
  #comesLate = false

  constructor(parts: CodingParts, record: LiveRecord, hold: Hold) {
    this.#parts = parts
    this.#record = record
    this.#hold = hold
    this.#meter = new Meter(parts, record)
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
    const metered = this.#meter.report(event)
    const counted = this.#record.change({ costUsd: this.#meter.costUsd })
    this.#metering = this.#record.settle(Promise.all([metered, counted]))
    void this.#metering.then(() => {
      if (event.subagent) this.#unpriced = Math.max(0, this.#unpriced - 1)
      else this.#calls.over(ownCalls)
      this.#calls.changed()
    })
  }

  turnBegan(): void {
    this.#calls.begin(ownCalls)
  }

  /** Claude's own total is the truth. */
  async settle(result: TurnResult, turnId: string): Promise<void> {
    await this.#meter.settle(result, turnId)
  }

  /** No call is under way any more, and nobody needs to wait for one. */
  turnOver(): void {
    this.#calls.clear()
    this.#unpriced = 0
  }

  /** Before a tool, and before the model is called again. Resolves to a refusal when it may cost no more. */
  async beforeTool(at: Parameters<BeforeTool>[0], signal: AbortSignal): Promise<string | undefined> {
    if (at.subagentId !== undefined) await this.#subagentArrived(at.subagentId, signal)
    else if (leadsToCall(at)) await this.#ownArrived(at.name === undefined, signal)
    for (;;) {
      const refusal = await this.#hold(signal)
      if (refusal !== undefined || signal.aborted || !leadsToCall(at)) return refusal
      if (this.#hasRoom() || !(await this.#calls.change(signal))) break
    }
    this.#begin(at)
    return undefined
  }

  #begin({ name, toolUseId = '', subagentId }: Parameters<BeforeTool>[0]): void {
    if (name !== undefined) this.#calls.beginFirst(toolUseId)
    else this.#calls.begin(subagentId ?? ownCalls)
    if (name !== undefined || subagentId !== undefined) this.#unpriced++
  }

  /** A tool begins before the call that asked for it is over; what that cost is known a moment later. When its tools are
   *  done, so are the sub-agents that it waited for. */
  async #ownArrived(areToolsDone: boolean, signal: AbortSignal): Promise<void> {
    await this.#soon(() => !this.#calls.has(ownCalls), signal)
    this.#calls.over(ownCalls)
    if (!areToolsDone) return
    this.#calls.startersDone()
    this.#unpriced = Math.min(this.#unpriced, this.#calls.countBeside(ownCalls))
  }

  /** Near a limit the next one is let through only when it is known what this one cost. */
  async #subagentArrived(agent: string, signal: AbortSignal): Promise<void> {
    const isPriced = (): boolean => this.#unpriced <= this.#calls.countBeside(agent, ownCalls)
    if (!this.#comesLate && this.#isNear() && !(await this.#soon(isPriced, signal))) this.#comesLate = true
    this.#unpriced = Math.min(this.#unpriced, this.#calls.countBeside(agent, ownCalls))
    this.#calls.over(agent)
  }

  /** Waits a moment until something is so; false when it is not. */
  async #soon(isSo: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#parts
    const until = clock.monotonic() + priceWithinMs
    for (let left = priceWithinMs; left > 0 && !isSo() && !signal.aborted;) {
      await this.#calls.change(signal, left)
      left = until - clock.monotonic()
    }
    return isSo()
  }

  #isNear(): boolean {
    const { dearestUsd } = this.#meter
    return dearestUsd === 0 || (this.#calls.count + 2) * dearestUsd >= this.#leftUsd()
  }

  /** One may always go on; more only when all of them, as dear as the dearest so far, stay below the limit. */
  #hasRoom(): boolean {
    const { count } = this.#calls
    return count === 0 || count * this.#meter.dearestUsd < this.#leftUsd()
  }

  #leftUsd(): number {
    const { spend, config, clock, dayOf } = this.#parts
    return leftUsd(this.#record.session, spend, config.budgets, dayOf(clock.now()))
  }
}

/** A tool leads to no call by itself, except the one that starts a sub-agent. */
function leadsToCall({ name, isDone }: Parameters<BeforeTool>[0]): boolean {
  return name === undefined ? isDone !== true : name === 'Agent' || name === 'Task'
}
