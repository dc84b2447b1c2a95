// What a running session asks people: may this tool run, which of these, may it cost more. Several questions may be open
// at once (sub-agents ask too); the session waits until the last of them is answered.
import type { PermissionAnswer, PermissionRequest } from '../../domain/agent.ts'
import type { Approval, CodingSession } from '../../domain/coding-session.ts'
import { askingAlike } from './identical-requests.ts'
import { awaiting } from './awaiting.ts'
import { budgetAsking, budgetReached, describeBudget, raisedBudget } from '../budget/budget.ts'
import type { BudgetReached } from '../budget/budget.ts'
import type { LiveRecord } from '../session/live-record.ts'
import { oneLine } from '../session/names.ts'
import type { CodingParts } from '../coding-parts.ts'
import { askedText } from './question-text.ts'
import { readAmount } from './read-answer.ts'

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
  /** The state to return to when the session already waited for a message as the first question came. */
  #idle: Pick<CodingSession, 'lifecycle' | 'waiting'> | undefined
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

  /** Waits while a limit is reached, one after the other. Resolves to a refusal when nobody raises it, else to nothing. */
  async holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    await this.#moments.metered()
    for (let reached = this.limitReached(); reached; reached = this.limitReached()) {
      this.#hold ??= this.#askForBudget(reached, this.#either(signal)).finally(() => (this.#hold = undefined))
      const refusal = await this.#hold
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  limitReached(): BudgetReached | undefined {
    const { spend, config } = this.#parts
    return budgetReached(this.#record.session, spend, config.budgets, this.#today())
  }

  async #askForBudget(reached: BudgetReached, signal: AbortSignal): Promise<string | undefined> {
    const { session } = this.#record
    const timeoutMs = this.#parts.config.idleTimeoutMinutes * 60_000
    const asking = { ...budgetAsking(session, reached), timeoutMs }
    const settled = await this.#parts.approvals.settle(asking, signal, (approval) => this.#await(approval))
    await this.#answered(settled)
    if (settled.state !== 'allowed') return describeBudget(reached)
    const amount = readAmount(settled.answer) ?? session.request.budgetUsd
    await this.#record.change(raisedBudget(session, reached, amount, this.#today()))
    return undefined
  }

  #today(): string {
    const { clock, dayOf } = this.#parts
    return dayOf(clock.now())
  }

  #either(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#moments.over])
  }

  #await(approval: Approval): void {
    this.#open.push(approval)
    this.#moments.onAsked()
    this.#record.later((session) => this.#asking(session, approval))
    const { session } = this.#record
    const alike = askingAlike(this.#parts, approval, session.request)
    void this.#record.settle(this.#parts.notifications.onApproval(session, approval, alike))
  }

  async #answered({ id }: Approval): Promise<void> {
    this.#open = this.#open.filter((other) => other.id !== id)
    if (this.#moments.over.aborted) return
    const [next] = this.#open
    if (next) return this.#record.change((session) => this.#asking(session, next))
    await this.#record.change(({ waiting }) => {
      // If the turn has ended meanwhile, or the next one has begun, the state is already right.
      if (waiting?.approvalId === undefined) return {}
      return this.#idle ?? { lifecycle: 'active', waiting: undefined }
    })
    if (this.#record.session.lifecycle === 'active') this.#moments.onAnswered()
  }

  /** A background sub-agent may ask between turns: the session then waits for a message again afterwards. */
  #asking({ lifecycle, waiting }: CodingSession, approval: Approval): Partial<CodingSession> {
    if (lifecycle === 'awaiting-input') this.#idle = { lifecycle, waiting }
    else if (waiting?.approvalId === undefined) this.#idle = undefined
    return waitingFor(approval)
  }
}

function waitingFor(approval: Approval): Partial<CodingSession> {
  const { lifecycle, for: what } = awaiting[approval.kind]
  const about = oneLine(askedText(approval), 200)
  return { lifecycle, waiting: { for: what, since: approval.askedAt, about, approvalId: approval.id } }
}
