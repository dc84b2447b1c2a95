// What coding sessions ask people: may this tool run, which of these, is this plan right, may it cost more.
// A question is on disk before anybody is told. The first valid answer wins, from whichever door and process it comes;
// no answer in time means no.
import { randomUUID } from 'node:crypto'
import type { PermissionAnswer } from '../../domain/agent.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Approval } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { Events } from '../../domain/events.ts'
import type { ApprovalStore } from '../../store/sqlite/approval-store.ts'
import { oneLine } from '../session/names.ts'
import { hashOf, patternOf, shownText, withScripts } from './question-text.ts'
import type { AskedFor } from './question-text.ts'
import { answerFor, checkAnswer } from './read-answer.ts'

export interface Asking {
  codingId?: string
  sessionKey?: string
  agentId: string
  request: AskedFor
  /** How long to wait; the configured time when absent. */
  timeoutMs?: number
}

export interface ApprovalAnswer {
  behavior: 'allow' | 'deny'
  /** For a question: the chosen label or own words. For a plan: what to change. For a budget: the new limit. */
  text?: string
  always?: boolean
  by: string
  /** Set when whoever answers is bound to an agent: there is nothing but what that agent's sessions ask. */
  agentId?: string
}

export interface ApprovalParts {
  store: ApprovalStore
  clock: Clock
  events: Events
  timeoutMs: () => number
}

/** How often an answer that another process wrote is looked for, while one waits. */
const lookMs = 200

export class Approvals {
  #parts: ApprovalParts

  constructor(parts: ApprovalParts) {
    this.#parts = parts
  }

  /** Asks and waits; resolves to what Claude is told. `onAsked` is called once the question is on disk: then people are told. */
  async ask(
    asking: Asking,
    signal: AbortSignal,
    onAsked: (approval: Approval) => void,
  ): Promise<PermissionAnswer> {
    for (;;) {
      const request = await withScripts(asking.request)
      if (this.#isGranted({ ...asking, request })) return { behavior: 'allow' }
      const settled = await this.settle({ ...asking, request }, signal, onAsked)
      // A script that changed while the person thought about it is not the one that was approved.
      const isSame = settled.state !== 'allowed' || hashOf(await withScripts(request)) === settled.inputHash
      if (isSame) return answerFor(settled, request)
    }
  }

  /** Asks and waits; resolves to the settled question itself. */
  async settle(
    asking: Asking,
    signal: AbortSignal,
    onAsked: (approval: Approval) => void,
  ): Promise<Approval> {
    const approval = this.#make(asking)
    await this.#parts.store.add(approval)
    this.#tell(approval, 'pending')
    onAsked(approval)
    return this.#settled(approval, signal)
  }

  /** All that are open, or those of one agent. */
  pending(agentId?: string): Approval[] {
    return this.#parts.store.pending().filter(isOf(agentId))
  }

  /** Answers one. Refused when it is no longer open, or when the input is not the one that was shown. */
  async answer(id: string, answer: ApprovalAnswer, shownHash?: string): Promise<Approval> {
    const approval = this.#find(id, answer.agentId)
    if (shownHash !== undefined && shownHash !== approval.inputHash) {
      throw new RockpoolError(
        'conflict',
        `Approval ${approval.id} is about something else than what was shown.`,
        {
          hint: 'Look at it again: `rockpool cc approvals`.',
        },
      )
    }
    if (answer.always && approval.kind !== 'tool') throw nothingForAlways(approval)
    if (answer.behavior === 'allow') checkAnswer(approval, answer.text)
    const by = { at: this.#parts.clock.now(), by: answer.by, text: answer.text }
    const won = await this.#parts.store.settle(
      approval.id,
      answer.behavior === 'allow' ? 'allowed' : 'denied',
      by,
    )
    if (!won) throw alreadySettled(this.#parts.store.get(approval.id) ?? approval)
    if (answer.always && answer.behavior === 'allow') await this.#grant(approval, answer.by)
    this.#tell(approval, answer.behavior === 'allow' ? 'allowed' : 'denied')
    return this.#parts.store.get(approval.id)!
  }

  /** Those that ask exactly the same and are open, in the order in which they were asked. */
  alike({ inputHash }: Approval): Approval[] {
    return this.pending().filter((other) => other.inputHash === inputHash)
  }

  /** The same question of several sessions, answered together; also when this one was answered already. */
  async answerAlike(
    id: string,
    answer: ApprovalAnswer,
    isMeant: (other: Approval, named: Approval) => boolean = () => true,
  ): Promise<Approval[]> {
    const first = this.#known(id, answer.agentId) ?? this.#find(id, answer.agentId, true)
    const meant = this.alike(first)
      .filter(isOf(answer.agentId))
      .filter((other) => isMeant(other, first))
    const settled: Approval[] = []
    for (const approval of meant) {
      try {
        settled.push(await this.answer(approval.id, answer))
      } catch (error) {
        // Somebody was faster with one of them; the others are answered all the same.
        if (asRockpoolError(error).code !== 'conflict') throw error
      }
    }
    if (settled.length === 0) throw alreadySettled(this.#parts.store.get(first.id) ?? first)
    return settled
  }

  /** A restart closes what was open: whoever asked is gone. They are shown as expired, and resuming asks again. */
  async expireOpen(codingIds: (approval: Approval) => boolean): Promise<Approval[]> {
    const open = this.pending().filter(codingIds)
    const now = this.#parts.clock.now()
    for (const approval of open) {
      await this.#parts.store.settle(approval.id, 'expired', { at: now, by: 'restart' })
      this.#tell(approval, 'expired')
    }
    return open
  }

  /** By id or a prefix of it; without one, the only open question there is. Where all that ask the same are meant, the
   *  last of them stands for all. */
  #find(id: string, agentId: string | undefined, alike = false): Approval {
    const open = this.pending(agentId)
    const found = id === '' ? open : open.filter((approval) => approval.id.startsWith(id))
    const isOne = new Set(found.map(({ inputHash, id: each }) => (alike ? inputHash : each))).size === 1
    if (isOne) return found.at(-1)!
    const known = this.#known(id, agentId)
    if (known) throw alreadySettled(known)
    const list = open.map((approval) => `${approval.id} (${oneLine(approval.shown, 60)})`).join(', ')
    if (open.length === 0 && id === '') throw new RockpoolError('not-found', 'Nothing waits for an answer.')
    throw found.length === 0
      ? new RockpoolError('not-found', `No open approval ${id}.`, { hint: `Open: ${list || 'none'}.` })
      : new RockpoolError('ambiguous', `Which one? ${list}.`, { hint: 'Give the id of one.' })
  }

  #known(id: string, agentId: string | undefined): Approval | undefined {
    return [this.#parts.store.get(id)].find((known) => known && isOf(agentId)(known))
  }

  #make({ codingId, sessionKey, agentId, request, timeoutMs }: Asking): Approval {
    const now = this.#parts.clock.now()
    return {
      id: randomUUID().slice(0, 8),
      codingId,
      sessionKey,
      agentId,
      kind: request.kind,
      toolName: request.toolName,
      input: request.input,
      cwd: request.cwd,
      scripts: request.scripts,
      inputHash: hashOf(request),
      shown: shownText(request),
      state: 'pending',
      askedAt: now,
      expiresAt: now + (timeoutMs ?? this.#parts.timeoutMs()),
    }
  }

  #settled(approval: Approval, signal: AbortSignal): Promise<Approval> {
    const { store, clock, events } = this.#parts
    return new Promise((resolve) => {
      const done = (): void => {
        stopListening()
        cancelTimer()
        signal.removeEventListener('abort', give)
        resolve(store.get(approval.id)!)
      }
      const expire = (): void => {
        const by = { at: clock.now(), by: signal.aborted ? 'turn-ended' : 'timeout' }
        const settled = store.settle(approval.id, 'expired', by)
        settled.then(
          (won) => {
            if (won) this.#tell(approval, 'expired')
            done()
          },
          // It could not be stored; until it is, nobody is told anything else than that it waits.
          () => {
            cancelTimer()
            cancelTimer = clock.after(lookMs, expire)
          },
        )
      }
      const look = (): void => {
        if (store.get(approval.id)?.state !== 'pending') return done()
        if (clock.now() >= approval.expiresAt) return expire()
        cancelTimer = clock.after(lookMs, look)
      }
      const give = (): void => expire()
      let cancelTimer = clock.after(lookMs, look)
      const stopListening = events.on((event) => {
        if (event.type === 'approval-changed' && event.id === approval.id && event.state !== 'pending') done()
      })
      signal.addEventListener('abort', give, { once: true })
      if (signal.aborted) give()
    })
  }

  #isGranted({ codingId, sessionKey, request }: Asking): boolean {
    if (request.kind !== 'tool') return false
    const pattern = patternOf(request)
    return this.#parts.store
      .grants()
      .some(
        (grant) =>
          grant.tool === request.toolName &&
          grant.pattern === pattern &&
          (grant.codingId ?? '') === (codingId ?? '') &&
          (grant.sessionKey ?? '') === (sessionKey ?? ''),
      )
  }

  #grant(approval: Approval, by: string): Promise<void> {
    const { codingId, sessionKey, toolName } = approval
    return this.#parts.store.grant({
      id: randomUUID().slice(0, 8),
      codingId,
      sessionKey,
      tool: toolName,
      pattern: patternOf(approval),
      grantedAt: this.#parts.clock.now(),
      grantedBy: by,
    })
  }

  #tell(approval: Approval, state: string): void {
    this.#parts.events.emit({ type: 'approval-changed', id: approval.id, codingId: approval.codingId, state })
  }
}

/** Everything, for whoever is bound to no agent. */
function isOf(agentId: string | undefined): (approval: Approval) => boolean {
  return (approval) => agentId === undefined || approval.agentId === agentId
}

/** A question, a plan or a budget is another one each time. */
function nothingForAlways({ id, kind }: Approval): RockpoolError {
  return new RockpoolError('input-invalid', `Approval ${id} is a ${kind}; it cannot be allowed always.`, {
    hint: `Answer this one: \`rockpool cc approve ${id}\`.`,
  })
}

function alreadySettled(approval: Approval): RockpoolError {
  const who = approval.answeredBy ? ` by ${approval.answeredBy}` : ''
  return new RockpoolError('conflict', `Approval ${approval.id} is already ${approval.state}${who}.`)
}
