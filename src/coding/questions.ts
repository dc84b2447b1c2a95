// What a running session asks people: may this tool run, which of these, may it cost more. Several questions may be open
// at once (sub-agents ask too); the session waits until the last of them is answered.
import type { PermissionAnswer, PermissionRequest } from '../domain/agent.ts'
import type { Approval } from '../domain/coding.ts'
import { awaiting } from './awaiting.ts'
import { amountOf, budgetAsking, budgetReached, describeBudget, raisedBudget } from './budget.ts'
import type { BudgetReached } from './budget.ts'
import type { LiveRecord } from './live-record.ts'
import { oneLine } from './names.ts'
import type { CodingParts } from './parts.ts'

export interface QuestionMoments {
  /** Fires when the session is over: nobody needs to answer any more. */
  over: AbortSignal
  /** Resolves when all that was metered is on disk: limits are sums over it. */
  metered: () => Promise<void>
  onAsked: () => void
  onAnswered: () => void
}

export class Questions {
  #parts: CodingParts
  #record: LiveRecord
  #moments: QuestionMoments
  #open: Approval[] = []
  #waitsSince = 0
  #hold: Promise<string | undefined> | undefined

  constructor(parts: CodingParts, record: LiveRecord, moments: QuestionMoments) {
    this.#parts = parts
    this.#record = record
    this.#moments = moments
  }

  async askPermission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { session } = this.#record
    const asking = { codingId: session.id, agentId: session.request.agentId, request }
    const asked: Approval[] = []
    const answer = await this.#parts.approvals.ask(asking, this.#either(signal), (approval) => {
      asked.push(approval)
      this.#await(approval)
    })
    for (const approval of asked) await this.#answered(approval)
    return answer
  }

  /** Waits while a limit is reached. Resolves to a refusal when nobody raises it, else to nothing. */
  async holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    await this.#moments.metered()
    const { spend, config, clock, dayOf } = this.#parts
    const reached = budgetReached(this.#record.session, spend, config.budgets, dayOf(clock.now()))
    if (!reached) return undefined
    this.#hold ??= this.#askForBudget(reached, this.#either(signal)).finally(() => (this.#hold = undefined))
    return this.#hold
  }

  async #askForBudget(reached: BudgetReached, signal: AbortSignal): Promise<string | undefined> {
    const { session } = this.#record
    const timeoutMs = this.#parts.config.idleTimeoutMinutes * 60_000
    const asking = { ...budgetAsking(session, reached), timeoutMs }
    const settled = await this.#parts.approvals.settle(asking, signal, (approval) => this.#await(approval))
    await this.#answered(settled)
    if (settled.state !== 'allowed') return describeBudget(reached)
    const amount = amountOf(settled.answer) ?? session.request.budgetUsd
    await this.#record.change(raisedBudget(session, reached, amount))
    return undefined
  }

  #either(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#moments.over])
  }

  #await(approval: Approval): void {
    if (this.#open.length === 0) this.#waitsSince = approval.askedAt
    this.#open.push(approval)
    this.#moments.onAsked()
    this.#record.later(waitingFor(approval))
    void this.#record.settle(this.#parts.notifications.onApproval(this.#record.session, approval))
  }

  async #answered({ id }: Approval): Promise<void> {
    this.#open = this.#open.filter((other) => other.id !== id)
    if (this.#moments.over.aborted) return
    const [next] = this.#open
    if (next) return this.#record.change(waitingFor(next))
    const waitedMs = this.#record.session.waitedMs + this.#parts.clock.now() - this.#waitsSince
    await this.#record.change({ waitedMs, lifecycle: 'active', waiting: undefined })
    this.#moments.onAnswered()
  }
}

function waitingFor(approval: Approval): Parameters<LiveRecord['change']>[0] {
  const { lifecycle, for: what } = awaiting[approval.kind]
  const about = oneLine(approval.shown, 200)
  return { lifecycle, waiting: { for: what, since: approval.askedAt, about, approvalId: approval.id } }
}
