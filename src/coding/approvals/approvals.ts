// Questions of coding sessions to people: may this tool run, which option, is this plan right, may it cost more. A question is
// on disk before people are notified. The first valid answer wins, from any client and process. A request waits without limit,
// also through a restart; where the configuration sets a limit, no answer in time means no.
import { randomUUID } from 'node:crypto'
import type { PermissionAnswer } from '../../domain/agent.ts'
import { Condition, sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Approval, Grant, RuleKind } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { Events } from '../../domain/events.ts'
import type { ApprovalStore } from '../../store/sqlite/approval-store.ts'
import { oneLine } from '../session/names.ts'
import { describeRule, findRule, ruleFor } from './permission-rules.ts'
import type { RuleScope } from './permission-rules.ts'
import { requestHash, displayText, withScripts } from './question-text.ts'
import type { QuestionRequest } from './question-text.ts'
import { answerFor, checkAnswer } from './read-answer.ts'

export interface Question {
  codingId?: string
  sessionKey?: string
  nativeName?: string
  agentId: string
  request: QuestionRequest
}

export interface ApprovalAnswer {
  behavior: 'allow' | 'deny'
  /** For a question: the chosen label or free text. For a plan: what to change. For a budget: the amount to add. */
  text?: string
  /** Exactly this, in this session, from now on. */
  always?: boolean
  /** A rule that lets more of the same pass from now on. */
  rule?: RuleKind
  /** The folder of a rule; the repository when absent. */
  folder?: string
  /** How long the rule lasts, and whether for all coding sessions; this session, always, when absent. */
  lasts?: { until?: number; forAll?: boolean }
  by: string
  /** Set for a caller that is bound to an agent: the caller sees only questions of that agent's sessions. */
  agentId?: string
}

interface ApprovalParts {
  store: ApprovalStore
  clock: Clock
  events: Events
  /** Time for an answer; 0: without limit. */
  timeoutMs: () => number
}

/** The reason of an abort that leaves the question open: Rockpool stops, and the answer resumes the session later. */
export const suspended = 'session-suspended'

/** The reason of an abort: the question was answered in the terminal of a native session. */
export const answeredInTerminal = 'terminal'

/** How often to look for an answer that another process wrote. */
const lookMs = 200

export class Approvals {
  #parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.#parts = parts
  }

  /** Asks and waits; resolves to the answer for Claude. `onAsked` is called when the question is on disk, to notify people;
   *  `onRule` if a rule let it pass. */
  async ask(
    question: Question,
    signal: AbortSignal,
    onAsked: (approval: Approval) => void,
    onRule: (rule: Grant) => void = () => {},
  ): Promise<PermissionAnswer> {
    for (;;) {
      const request = await withScripts(question.request)
      const rule = findRule(this.#parts.store.grants(), request, question, this.#parts.clock.now())
      if (rule) {
        await this.#recordRule({ ...question, request }, rule)
        onRule(rule)
        return { behavior: 'allow' }
      }
      const settled = await this.settle({ ...question, request }, signal, onAsked)
      // If a script changed while the person decided, the approval does not cover it.
      const isSame =
        settled.state !== 'allowed' || requestHash(await withScripts(request)) === settled.inputHash
      if (isSame) return answerFor(settled, request)
    }
  }

  /** Asks and waits; resolves to the settled approval itself. */
  async settle(
    question: Question,
    signal: AbortSignal,
    onAsked: (approval: Approval) => void,
  ): Promise<Approval> {
    const approval = this.#make(question)
    await this.#parts.store.add(approval)
    this.#emit(approval, 'pending')
    onAsked(approval)
    return this.#settled(approval, signal)
  }

  get(id: string): Approval | undefined {
    return this.#parts.store.get(id)
  }

  /** All open approvals, or those of one agent. */
  pending(agentId?: string): Approval[] {
    return this.#parts.store.pending().filter(isOf(agentId))
  }

  /** Throws if the approval is no longer open, or if `shownHash` is not the hash of its input. */
  async answer(id: string, answer: ApprovalAnswer, shownHash?: string): Promise<Approval> {
    const approval = this.#find(id, answer.agentId)
    checkShown(approval, shownHash)
    const { store, clock } = this.#parts
    const isYes = answer.behavior === 'allow'
    const kind = answer.rule ?? (answer.always ? 'exact' : undefined)
    if (kind && approval.kind !== 'tool') throw notForAlways(approval)
    if (isYes) checkAnswer(approval, answer.text)
    const rule = isYes && kind ? ruleFor(kind, approval, answer.folder) : undefined
    const asker = { codingId: approval.codingId, sessionKey: approval.sessionKey }
    const state = isYes ? 'allowed' : 'denied'
    const won = await store.settle(approval.id, state, { at: clock.now(), by: answer.by, text: answer.text })
    if (!won) throw alreadySettled(store.get(approval.id) ?? approval)
    if (rule)
      await this.addRule(
        { ...rule, ...(answer.lasts?.forAll ? {} : asker), until: answer.lasts?.until },
        answer.by,
      )
    this.#emit(approval, state)
    return store.get(approval.id)!
  }

  /** Open approvals with exactly the same question, the oldest first. */
  identicalTo({ inputHash }: Approval): Approval[] {
    return this.pending().filter((other) => other.inputHash === inputHash)
  }

  /** By id, also if it has been answered already; by a prefix of it only while it is open. */
  named(id: string, agentId?: string): Approval {
    return this.#known(id, agentId) ?? this.#find(id, agentId, true)
  }

  /**
   * Answers the same question of several sessions together, also when the named one has been answered already. `others` are the
   * requests that the person saw with it; a request that came later stays open.
   */
  async answerTogether(
    id: string,
    others: readonly string[],
    answer: ApprovalAnswer,
    shownHash?: string,
  ): Promise<Approval[]> {
    const { agentId } = answer
    const first = this.named(id, agentId)
    checkShown(first, shownHash)
    for (const other of others)
      if (this.#known(other, agentId)?.inputHash !== first.inputHash) throw notTheSame(other, first)
    const meant = this.identicalTo(first)
      .filter(isOf(agentId))
      .filter((each) => each.id === first.id || others.includes(each.id))
    const settled: Approval[] = []
    for (const approval of meant) {
      try {
        settled.push(await this.answer(approval.id, answer))
      } catch (error) {
        // One of them was answered meanwhile; the others still get this answer.
        if (asRockpoolError(error).code !== 'conflict') throw error
      }
    }
    if (settled.length === 0) throw alreadySettled(this.#parts.store.get(first.id) ?? first)
    return settled
  }

  /** Expires the open questions that `isMeant` accepts, because no session or turn waits for their answers any more. */
  async expireOpen(isMeant: (approval: Approval) => boolean): Promise<void> {
    for (const approval of this.pending().filter(isMeant)) {
      await this.#parts.store.settle(approval.id, 'expired', { at: this.#parts.clock.now(), by: 'restart' })
      this.#emit(approval, 'expired')
    }
  }

  /**
   * Finds an open approval by its id or a prefix of the id. Without an id it finds none: the only open approval need not be the
   * one that the person saw. With `identical`, approvals that ask the same count as one, and the last of them is returned.
   */
  #find(id: string, agentId: string | undefined, identical = false): Approval {
    if (id === '') throw this.#unclear(agentId)
    const open = this.pending(agentId)
    const isNamed = (approval: Approval): boolean => approval.id.startsWith(id)
    const found = open.filter(isNamed)
    const isOne = new Set(found.map(({ inputHash, id: each }) => (identical ? inputHash : each))).size === 1
    if (isOne) return found.at(-1)!
    if (found.length > 0) throw this.#unclear(agentId)
    const settled = this.#known(id, agentId) ?? this.#parts.store.recent(100, agentId).find(isNamed)
    if (settled) throw alreadySettled(settled)
    const hint = `Open: ${listed(open) || 'none'}.`
    throw new RockpoolError('not-found', `No open approval ${id}.`, { hint })
  }

  /** The refusal of an answer that does not say which question it is for. */
  #unclear(agentId: string | undefined): RockpoolError {
    const open = this.pending(agentId)
    return open.length === 0
      ? new RockpoolError('not-found', 'Nothing waits for an answer.')
      : new RockpoolError('ambiguous', `Which one? ${listed(open)}.`, { hint: 'Give the id of one.' })
  }

  /** By the whole id: an answer may name a request that was answered already, but never by the beginning of its id. */
  #known(id: string, agentId: string | undefined): Approval | undefined {
    return [this.#parts.store.get(id)].find((known) => known && isOf(agentId)(known))
  }

  #make({ codingId, sessionKey, nativeName, agentId, request }: Question): Approval {
    const now = this.#parts.clock.now()
    const timeoutMs = this.#parts.timeoutMs()
    return {
      id: randomUUID().slice(0, 8),
      codingId,
      sessionKey,
      nativeName,
      agentId,
      kind: request.kind,
      toolName: request.toolName,
      input: request.input,
      cwd: request.cwd,
      scripts: request.scripts,
      inputHash: requestHash(request),
      toolUseId: request.toolUseId,
      shown: displayText(request),
      state: 'pending',
      askedAt: now,
      expiresAt: timeoutMs > 0 ? now + timeoutMs : undefined,
    }
  }

  /** Resolves when the approval is answered, in any process, or has expired. Still pending if the session is suspended. */
  async #settled({ id, expiresAt = Infinity, codingId }: Approval, signal: AbortSignal): Promise<Approval> {
    const { store, clock, events } = this.#parts
    const changed = new Condition(clock)
    const stopListening = events.on((event) => {
      if (event.type === 'approval-changed' && event.id === id) changed.notifyAll()
    })
    try {
      for (;;) {
        const stored = store.get(id)!
        if (stored.state !== 'pending' || signal.reason === suspended) return stored
        if (!signal.aborted && clock.now() < expiresAt) await changed.wait(lookMs, signal)
        else if (!(await this.#expire({ id, codingId }, expiredBy(signal)))) await sleep(clock, lookMs)
      }
    } finally {
      stopListening()
    }
  }

  /** False when the store failed: the approval stays pending, and the caller tries again. */
  async #expire(approval: Pick<Approval, 'id' | 'codingId'>, by: string): Promise<boolean> {
    const { store, clock } = this.#parts
    try {
      if (await store.settle(approval.id, 'expired', { at: clock.now(), by })) this.#emit(approval, 'expired')
      return true
    } catch {
      // The question stays open for every reader until its expiry is stored.
      return false
    }
  }

  /** The recorded answer names the rule. */
  #recordRule(question: Question, rule: Grant): Promise<void> {
    const approval = this.#make(question)
    const answeredBy = `rule ${rule.id}`
    const { askedAt: answeredAt } = approval
    const settled = { state: 'allowed', answeredAt, answeredBy, answer: describeRule(rule) } as const
    return this.#parts.store.add({ ...approval, ...settled, expiresAt: undefined })
  }

  async addRule(
    scope: RuleScope & Pick<Grant, 'codingId' | 'sessionKey' | 'until'>,
    by: string,
  ): Promise<Grant> {
    const rule = { ...scope, id: randomUUID().slice(0, 8), grantedAt: this.#parts.clock.now(), grantedBy: by }
    await this.#parts.store.grant(rule)
    return rule
  }

  #emit({ id, codingId }: Pick<Approval, 'id' | 'codingId'>, state: string): void {
    this.#parts.events.emit({ type: 'approval-changed', id, codingId, state })
  }
}

function checkShown({ id, inputHash }: Approval, shownHash: string | undefined): void {
  if (shownHash === undefined || shownHash === inputHash) return
  throw new RockpoolError('conflict', `Approval ${id} is about something else than what was shown.`, {
    hint: 'Look at it again: `rockpool cc approvals`.',
  })
}

function notTheSame(id: string, { id: first }: Approval): RockpoolError {
  return new RockpoolError('input-invalid', `No approval ${id} asks exactly what ${first} asks.`, {
    hint: 'Answer it alone; `rockpool cc approvals` shows which ones ask the same.',
  })
}

function listed(open: Approval[]): string {
  return open.map(({ id, shown }) => `${id} (${oneLine(shown, 60)})`).join(', ')
}

/** All approvals, for a caller that is bound to no agent. */
function isOf(agentId: string | undefined): (approval: Approval) => boolean {
  return (approval) => agentId === undefined || approval.agentId === agentId
}

/** Every question, plan and budget is a new one, so "always" has no meaning for them. */
function notForAlways({ id, kind }: Approval): RockpoolError {
  return new RockpoolError('input-invalid', `Approval ${id} is a ${kind}; it cannot be allowed always.`, {
    hint: `Answer this one: \`rockpool cc approve ${id}\`.`,
  })
}

function expiredBy(signal: AbortSignal): string {
  if (!signal.aborted) return 'timeout'
  return signal.reason === answeredInTerminal ? answeredInTerminal : 'turn-ended'
}

function alreadySettled(approval: Approval): RockpoolError {
  if (approval.answeredBy === answeredInTerminal)
    return new RockpoolError('conflict', `Approval ${approval.id} was answered in the terminal.`)
  const who = approval.answeredBy ? ` by ${approval.answeredBy}` : ''
  return new RockpoolError('conflict', `Approval ${approval.id} is already ${approval.state}${who}.`)
}
