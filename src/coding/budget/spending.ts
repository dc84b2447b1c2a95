// The spending of a running session. Each call is metered when it is reported, and the next call is held at a limit. Near a limit
// only as many calls are allowed as there is room for, so that parallel sub-agents do not each exceed it.
import type { BeforeTool } from '../../domain/agent.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import type { SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from '../session/live-record.ts'
import { leftUsd } from './budget.ts'
import type { LimitState } from './budget.ts'
import { CallsInProgress, ownCalls } from './calls-in-progress.ts'

const priceWithinMs = 1_000

/** Waits while a limit is reached; resolves to a refusal when the limit is not raised. */
type Hold = (signal: AbortSignal) => Promise<string | undefined>

export class Spending {
  #parts: SessionParts
  #record: LiveRecord
  #hold: Hold
  #meter: Meter
  #calls: CallsInProgress
  #metering: Promise<void> = Promise.resolve()
  /** Calls of sub-agents whose cost is not known yet. */
  #unpriced = 0
  /** Claude reported the cost of a sub-agent's call too late once. From then on, calls do not wait for such reports. */
  #isPriceLate = false

  constructor(parts: SessionParts, record: LiveRecord, hold: Hold) {
    this.#parts = parts
    this.#record = record
    this.#hold = hold
    this.#meter = new Meter(parts, record)
    this.#calls = new CallsInProgress(parts.clock)
  }

  get costUsd(): number {
    return this.#meter.costUsd
  }

  /** Resolves when all costs metered up to now are on disk: limits are sums over them. */
  get metered(): Promise<void> {
    return this.#metering
  }

  report(event: Extract<TurnEvent, { type: 'usage' }>): void {
    const metered = this.#meter.report(event)
    const counted = this.#record.change({ costUsd: this.#meter.costUsd })
    this.#metering = this.#record.logFailure(Promise.all([metered, counted]))
    void this.#metering.then(() => {
      if (event.subagent) this.#unpriced = Math.max(0, this.#unpriced - 1)
      else this.#calls.end(ownCalls)
      this.#calls.changed()
    })
  }

  turnStarted(): void {
    this.#calls.start(ownCalls)
  }

  /** At the end of a turn: replaces the costs that we metered with the total that Claude reports. */
  async settle(result: TurnResult, turnId: string): Promise<void> {
    await this.#meter.settle(result, turnId)
  }

  /** The turn has ended, so no call is in progress any more. */
  turnEnded(): void {
    this.#calls.clear()
    this.#unpriced = 0
  }

  /** Before a tool, and before the next call to the model. Resolves to a refusal when no more may be spent. */
  async beforeTool(at: Parameters<BeforeTool>[0], signal: AbortSignal): Promise<string | undefined> {
    if (at.subagentId !== undefined) await this.#subagentArrived(at.subagentId, signal)
    else if (leadsToCall(at)) await this.#ownAgentArrived(at.name === undefined, signal)
    for (;;) {
      const refusal = await this.#hold(signal)
      if (refusal !== undefined || signal.aborted || !leadsToCall(at)) return refusal
      if (this.#hasRoom() || !(await this.#calls.change(signal))) break
    }
    this.#startCall(at)
    return undefined
  }

  #startCall({ name, toolUseId = '', subagentId }: Parameters<BeforeTool>[0]): void {
    if (name !== undefined) this.#calls.startFirst(toolUseId)
    else this.#calls.start(subagentId ?? ownCalls)
    if (name !== undefined || subagentId !== undefined) this.#unpriced++
  }

  /** A tool starts before the call that requested it is over; the cost of that call is known a moment later. When the tools
   *  are done, so are the sub-agents that the agent waited for. */
  async #ownAgentArrived(areToolsDone: boolean, signal: AbortSignal): Promise<void> {
    await this.#becomesTrue(() => !this.#calls.has(ownCalls), signal)
    this.#calls.end(ownCalls)
    if (!areToolsDone) return
    this.#calls.endFirst()
    this.#unpriced = Math.min(this.#unpriced, this.#calls.countWithout(ownCalls))
  }

  /** Near a limit the next call must wait until the cost of this one is known. */
  async #subagentArrived(agent: string, signal: AbortSignal): Promise<void> {
    const isPriced = (): boolean => this.#unpriced <= this.#calls.countWithout(agent, ownCalls)
    if (!this.#isPriceLate && this.#isNearLimit())
      this.#isPriceLate = !(await this.#becomesTrue(isPriced, signal))
    this.#unpriced = Math.min(this.#unpriced, this.#calls.countWithout(agent, ownCalls))
    this.#calls.end(agent)
  }

  /** Waits a moment for a condition; false when it does not become true. */
  async #becomesTrue(isTrue: () => boolean, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#parts
    const until = clock.monotonic() + priceWithinMs
    for (let left = priceWithinMs; left > 0 && !isTrue() && !signal.aborted;) {
      await this.#calls.change(signal, left)
      left = until - clock.monotonic()
    }
    return isTrue()
  }

  #isNearLimit(): boolean {
    const { highestUsd } = this.#meter
    return highestUsd === 0 || (this.#calls.count + 2) * highestUsd >= this.#leftUsd()
  }

  /** One call is always allowed; more only if all of them, each as expensive as the highest so far, stay below the limit. */
  #hasRoom(): boolean {
    const { count } = this.#calls
    return count === 0 || count * this.#meter.highestUsd < this.#leftUsd()
  }

  #leftUsd(): number {
    return leftUsd(this.#record.session, limitState(this.#parts))
  }
}

/** The limits as they are now. */
export function limitState({ budget, config, clock }: SessionParts): LimitState {
  return { spend: budget.spend, limits: config.budgets, today: budget.dayOf(clock.now()) }
}

/** Among the tools, only the one that starts a sub-agent leads to a call by itself. */
function leadsToCall({ name, isDone }: Parameters<BeforeTool>[0]): boolean {
  return name === undefined ? isDone !== true : name === 'Agent' || name === 'Task'
}

/** Adds up the calls to the model as they are reported, those of sub-agents too. */
class Meter {
  #parts: SessionParts
  #session: CodingSession
  #writes: LiveRecord['writes']
  #costBefore: number
  #calls = new Map<string, number>()
  #highestUsd = 0

  constructor(parts: SessionParts, { session, writes }: LiveRecord) {
    this.#parts = parts
    this.#session = session
    this.#writes = writes
    this.#costBefore = session.costUsd
  }

  get costUsd(): number {
    return this.#costBefore + this.#sum()
  }

  /** The cost of the most expensive call so far. */
  get highestUsd(): number {
    return this.#highestUsd
  }

  /** The same call may be reported again with more output; the larger report counts. */
  async report(event: Extract<TurnEvent, { type: 'usage' }>): Promise<void> {
    const usd = event.costUsd ?? this.#parts.budget.priceOf(event.model, event.usage)
    this.#calls.set(event.messageId, Math.max(usd, this.#calls.get(event.messageId) ?? 0))
    this.#highestUsd = Math.max(usd, this.#highestUsd)
    await this.#add(event.messageId, event.model, usd, event.subagent)
  }

  /** The difference to Claude's total becomes one more row, so that sums over the rows stay correct. */
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
    const { clock, budget } = this.#parts
    const at = clock.now()
    const { workdir: repo, agentId } = this.#session.request
    const row = {
      id,
      at,
      day: budget.dayOf(at),
      codingId: this.#session.id,
      repo,
      agentId,
      model,
      usd,
      subagent,
    }
    return this.#writes.retry(() => budget.spend.add(row))
  }
}
