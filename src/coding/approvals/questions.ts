// The questions of one running session: may this tool run, which option, may it cost more. Several may be open at once, because
// sub-agents ask too; the session waits until the last of them is answered.
import type { PermissionAnswer, PermissionRequest } from '../../domain/agent.ts'
import type { Approval, CodingLifecycle, CodingSession, Waiting } from '../../domain/coding-session.ts'
import { budgetQuestion, budgetReached, describeBudget, raisedBudget } from '../budget/budget.ts'
import type { BudgetReached } from '../budget/budget.ts'
import { limitState } from '../budget/spending.ts'
import type { SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from '../session/live-record.ts'
import { oneLine } from '../session/names.ts'
import { isSameOrigin } from '../session/origin.ts'
import { requestText } from './question-text.ts'
import { readAmount } from './read-answer.ts'

export interface QuestionHooks {
  /** Fires when the session is over: no answer is needed any more. */
  over: AbortSignal
  /** Resolves when all metered costs are on disk: limits are sums over them. */
  metered: () => Promise<void>
  onAsked: () => void
  onAnswered: () => void
}

export class Questions {
  #parts: SessionParts
  #record: LiveRecord
  #hooks: QuestionHooks
  #open: Approval[] = []
  /** The state to return to when the session already waited for a message as the first question came. */
  #idle: Pick<CodingSession, 'lifecycle' | 'waiting'> | undefined
  #hold: Promise<string | undefined> | undefined

  constructor(parts: SessionParts, record: LiveRecord, hooks: QuestionHooks) {
    this.#parts = parts
    this.#record = record
    this.#hooks = hooks
  }

  async askPermission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { session } = this.#record
    const question = { codingId: session.id, agentId: session.request.agentId, request }
    const asked: Approval[] = []
    const answer = await this.#parts.approvals.ask(question, this.#untilOver(signal), (approval) => {
      asked.push(approval)
      this.#asked(approval)
    })
    for (const approval of asked) await this.#answered(approval)
    return answer
  }

  /** Asks about each reached limit, one after the other. Resolves to a refusal when one is not raised, else to undefined. */
  async holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    await this.#hooks.metered()
    for (let reached = this.limitReached(); reached; reached = this.limitReached()) {
      const asking = (this.#hold ??= this.#askForBudget(reached, this.#untilOver(signal)).finally(
        () => (this.#hold = undefined),
      ))
      const refusal = await asking
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  limitReached(): BudgetReached | undefined {
    return budgetReached(this.#record.session, limitState(this.#parts))
  }

  async #askForBudget(reached: BudgetReached, signal: AbortSignal): Promise<string | undefined> {
    const { session } = this.#record
    const timeoutMs = this.#parts.config.idleTimeoutMinutes * 60_000
    const question = { ...budgetQuestion(session, reached), timeoutMs }
    const settled = await this.#parts.approvals.settle(question, signal, (approval) => this.#asked(approval))
    await this.#answered(settled)
    if (settled.state !== 'allowed') return describeBudget(reached)
    const amount = readAmount(settled.answer) ?? session.request.budgetUsd
    await this.#record.change(raisedBudget(session, reached, amount, limitState(this.#parts).today))
    return undefined
  }

  #untilOver(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#hooks.over])
  }

  #asked(approval: Approval): void {
    this.#open.push(approval)
    this.#hooks.onAsked()
    this.#record.later((session) => this.#asking(session, approval))
    const { session } = this.#record
    const notified = this.#parts.notifications.onApproval(session, approval, this.#askingTheSame(approval))
    void this.#record.logFailure(notified)
  }

  /** Names of the sessions that asked the same in the same chat up to now, this one last. */
  #askingTheSame(approval: Approval): string[] {
    const { approvals, store } = this.#parts
    const isMeant = shownWith(store, this.#record.session.request.originChannel)
    return approvals
      .identicalTo(approval)
      .filter((other) => isMeant(other, approval))
      .map(({ codingId = '' }) => store.get(codingId)?.name ?? codingId)
  }

  async #answered({ id }: Approval): Promise<void> {
    this.#open = this.#open.filter((other) => other.id !== id)
    if (this.#hooks.over.aborted) return
    const [next] = this.#open
    if (next) return this.#record.change((session) => this.#asking(session, next))
    await this.#record.change(({ waiting }) => {
      // If the turn has ended meanwhile, or the next one has begun, the state is already right.
      if (waiting?.approvalId === undefined) return {}
      return this.#idle ?? { lifecycle: 'active', waiting: undefined }
    })
    if (this.#record.session.lifecycle === 'active') this.#hooks.onAnswered()
  }

  /** A background sub-agent may ask between turns: the session then waits for a message again afterwards. */
  #asking({ lifecycle, waiting }: CodingSession, approval: Approval): Partial<CodingSession> {
    if (lifecycle === 'awaiting-input') this.#idle = { lifecycle, waiting }
    else if (waiting?.approvalId === undefined) this.#idle = undefined
    return waitingFor(approval)
  }
}

const waitingStates: Record<Approval['kind'], { lifecycle: CodingLifecycle; for: Waiting['for'] }> = {
  tool: { lifecycle: 'awaiting-approval', for: 'approval' },
  question: { lifecycle: 'awaiting-answer', for: 'answer' },
  plan: { lifecycle: 'awaiting-plan', for: 'plan' },
  budget: { lifecycle: 'awaiting-budget', for: 'budget' },
}

function waitingFor(approval: Approval): Partial<CodingSession> {
  const { lifecycle, for: what } = waitingStates[approval.kind]
  const about = oneLine(requestText(approval), 200)
  return { lifecycle, waiting: { for: what, since: approval.askedAt, about, approvalId: approval.id } }
}

/** Tells whether the same chat was shown an approval before `named`, or whether it is `named` itself: an answer "for all" covers
 *  only those. */
export function shownWith(
  store: { get(id: string): CodingSession | undefined },
  originChannel: string,
): (other: Approval, named: Approval) => boolean {
  return (other, named) =>
    other.askedAt <= named.askedAt &&
    isSameOrigin(store.get(other.codingId ?? '')?.request.originChannel ?? '', originChannel)
}
