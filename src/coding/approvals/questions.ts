// The questions of one running session: may this tool run, which option, may it cost more. Several may be open at once, because
// sub-agents ask too; the session waits until the last of them is answered.
import type { PermissionAnswer, PermissionRequest } from '../../domain/agent.ts'
import type { Approval, CodingLifecycle, CodingSession, Grant, Waiting } from '../../domain/coding-session.ts'
import { budgetQuestion, budgetReached, describeBudget, raisedBudget } from '../budget/budget.ts'
import type { BudgetReached } from '../budget/budget.ts'
import { limitState } from '../budget/spending.ts'
import type { SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from '../session/live-record.ts'
import { isSameOrigin } from '../session/origin.ts'
import { requestHash, requestLine, withScripts } from './question-text.ts'
import { answerFor, expiryText, readAmount, refusalText } from './read-answer.ts'

interface QuestionHooks {
  /** Fires when the session is over: no answer is needed any more. */
  over: AbortSignal
  /** Resolves when all metered costs are on disk: limits are sums over them. */
  metered: () => Promise<void>
  onAsked: () => void
  onAnswered: () => void
  onRule: (rule: Grant) => void
  /** A person denied the tool call, or the question expired. `text` says so. */
  onRefused: (toolUseId: string, text: string) => void
}

export class Questions {
  #parts: SessionParts
  #record: LiveRecord
  #hooks: QuestionHooks
  #open: Approval[] = []
  /** The state to restore after the last answer, if the session already waited for a message when the first question came. */
  #idle: Pick<CodingSession, 'lifecycle' | 'waiting'> | undefined
  #hold: Promise<string | undefined> | undefined

  constructor(parts: SessionParts, record: LiveRecord, hooks: QuestionHooks) {
    this.#parts = parts
    this.#record = record
    this.#hooks = hooks
  }

  async askPermission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer> {
    const { session } = this.#record
    const before = await this.#answeredBefore(request)
    if (before) return answerFor(before, request)
    const question = { codingId: session.id, agentId: session.request.agentId, request }
    const asked: Approval[] = []
    const onAsked = (approval: Approval): void => {
      asked.push(approval)
      this.#asked(approval)
    }
    const { approvals } = this.#parts
    const answer = await approvals.ask(question, this.#untilOver(signal), onAsked, this.#hooks.onRule)
    for (const approval of asked) await this.#answered(approval)
    return answer
  }

  /** Asks about each reached limit, one after the other. Resolves to a refusal if the person does not raise a limit, else to
   *  undefined. */
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
    const settled = (await this.#answeredBefore()) ?? (await this.#settleBudget(reached, signal))
    if (settled.state !== 'allowed') return describeBudget(reached)
    const amount = readAmount(settled.answer) ?? session.request.budgetUsd
    await this.#record.change(raisedBudget(session, reached, amount, limitState(this.#parts).today))
    return undefined
  }

  async #settleBudget(reached: BudgetReached, signal: AbortSignal): Promise<Approval> {
    const question = budgetQuestion(this.#record.session, reached, this.#parts.budget.spend)
    const settled = await this.#parts.approvals.settle(question, signal, (approval) => this.#asked(approval))
    await this.#answered(settled)
    return settled
  }

  /** The answer that a person gave while no process ran the session, if it is about this request, or about the budget. It is
   *  used once. */
  async #answeredBefore(request?: PermissionRequest): Promise<Approval | undefined> {
    const { answered } = this.#record.session
    const approval = answered === undefined ? undefined : this.#parts.approvals.get(answered)
    const hash = approval && request && requestHash(await withScripts(request))
    if (!approval || (request ? hash !== approval.inputHash : approval.kind !== 'budget')) return undefined
    await this.#record.change({ answered: undefined })
    return approval
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
    const settled = this.#parts.approvals.get(id)
    const refusal = settled && refusalText(settled)
    if (refusal !== undefined && settled?.toolUseId) this.#hooks.onRefused(settled.toolUseId, refusal)
    const expired = settled?.answeredBy === 'timeout' ? { expired: expiredQuestion(settled) } : {}
    const [next] = this.#open
    if (next) return this.#record.change((session) => ({ ...this.#asking(session, next), ...expired }))
    await this.#record.change(({ waiting }) => {
      // If the turn has ended meanwhile, or the next one has begun, the state is already right.
      if (waiting?.approvalId === undefined) return expired
      return { ...(this.#idle ?? { lifecycle: 'active', waiting: undefined }), ...expired }
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

function expiredQuestion(approval: Approval): CodingSession['expired'] {
  const { answeredAt: at = approval.askedAt } = approval
  return { about: requestLine(approval), at, text: expiryText(approval) }
}

function waitingFor(approval: Approval): Partial<CodingSession> {
  const { lifecycle, for: what } = waitingStates[approval.kind]
  const about = requestLine(approval)
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
