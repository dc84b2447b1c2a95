// What coding sessions ask people: may this tool run, which of these, is this plan right, may it cost more.
// A question is on disk before anybody is told. The first valid answer wins, from whichever door and process it comes;
// no answer in time means no.
import { createHash, randomUUID } from 'node:crypto'
import type { PermissionAnswer, PermissionRequest } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { Approval } from '../domain/coding.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { ApprovalStore } from '../store/approval-store.ts'
import { oneLine } from './names.ts'

export interface Asking {
  codingId?: string
  sessionKey?: string
  agentId: string
  /** A permission request of Claude's, or our own question about the budget. */
  request: Omit<PermissionRequest, 'kind'> & { kind: Approval['kind'] }
  /** How long to wait; the configured time when absent. */
  timeoutMs?: number
}

type AskedFor = Asking['request']

export interface ApprovalAnswer {
  behavior: 'allow' | 'deny'
  /** For a question: the chosen label or own words. For a plan: what to change. For a budget: the new limit. */
  text?: string
  always?: boolean
  by: string
}

export interface ApprovalParts {
  store: ApprovalStore
  clock: Clock
  events: Events
  timeoutMs: number
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
    if (this.#isGranted(asking)) return { behavior: 'allow' }
    return answerFor(await this.settle(asking, signal, onAsked), asking.request)
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

  pending(): Approval[] {
    return this.#parts.store.pending()
  }

  /** Answers one. Refused when it is no longer open, or when the input is not the one that was shown. */
  async answer(id: string, answer: ApprovalAnswer, shownHash?: string): Promise<Approval> {
    const approval = this.#find(id)
    if (shownHash !== undefined && shownHash !== approval.inputHash) {
      throw new RockpoolError(
        'conflict',
        `Approval ${approval.id} is about something else than what was shown.`,
        {
          hint: 'Look at it again: `rockpool cc approvals`.',
        },
      )
    }
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

  /** The same question of several sessions, answered together. */
  async answerAlike(id: string, answer: ApprovalAnswer): Promise<Approval[]> {
    const first = this.#find(id)
    const alike = this.pending().filter((other) => other.inputHash === first.inputHash)
    const settled: Approval[] = []
    for (const approval of alike) settled.push(await this.answer(approval.id, answer))
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

  /** By id or a prefix of it; without one, the only open question there is. */
  #find(id: string): Approval {
    const open = this.pending()
    const found = id === '' ? open : open.filter((approval) => approval.id.startsWith(id))
    if (found.length === 1) return found[0]!
    const known = this.#parts.store.get(id)
    if (known) throw alreadySettled(known)
    const list = open.map((approval) => `${approval.id} (${oneLine(approval.shown, 60)})`).join(', ')
    throw found.length === 0
      ? new RockpoolError('not-found', `No open approval ${id}.`, { hint: `Open: ${list || 'none'}.` })
      : new RockpoolError('ambiguous', `Which one? ${list}.`, { hint: 'Give the id of one.' })
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
      inputHash: hashOf(request),
      shown: shownText(request),
      state: 'pending',
      askedAt: now,
      expiresAt: now + (timeoutMs ?? this.#parts.timeoutMs),
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
        void store.settle(approval.id, 'expired', by).then((won) => {
          if (won) this.#tell(approval, 'expired')
          done()
        })
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
    const { codingId, sessionKey, toolName, input } = approval
    return this.#parts.store.grant({
      id: randomUUID().slice(0, 8),
      codingId,
      sessionKey,
      tool: toolName,
      pattern: patternOf({ toolName, input }),
      grantedAt: this.#parts.clock.now(),
      grantedBy: by,
    })
  }

  #tell(approval: Approval, state: string): void {
    this.#parts.events.emit({ type: 'approval-changed', id: approval.id, codingId: approval.codingId, state })
  }
}

function alreadySettled(approval: Approval): RockpoolError {
  const who = approval.answeredBy ? ` by ${approval.answeredBy}` : ''
  return new RockpoolError('conflict', `Approval ${approval.id} is already ${approval.state}${who}.`)
}

function hashOf(request: AskedFor): string {
  const exact = JSON.stringify([request.toolName, request.input])
  return createHash('sha256').update(exact).digest('hex')
}

const noPlan = 'It would like to begin, and has written no plan down. What it said stands in its output.'

/** The whole of what is asked. Control characters are made visible where it is shown, never removed here. */
function shownText(request: AskedFor): string {
  const { toolName, input } = request
  if (request.kind === 'plan') return typeof input['plan'] === 'string' ? input['plan'] : noPlan
  if (request.kind === 'question') return questionText(input)
  return typeof input['command'] === 'string'
    ? input['command']
    : `${toolName} ${JSON.stringify(input, null, 2)}`
}

function questionText(input: Record<string, unknown>): string {
  return questionsOf(input)
    .map((question) =>
      [question.question, ...question.options.map((label, i) => `${i + 1}. ${label}`)].join('\n'),
    )
    .join('\n\n')
}

/** Reads `AskUserQuestion`'s input; whatever does not fit is left out. */
export function questionsOf(input: Record<string, unknown>): Array<{ question: string; options: string[] }> {
  const questions: unknown[] = Array.isArray(input['questions']) ? input['questions'] : []
  return questions.flatMap((raw) => {
    const fields = raw as { question?: unknown; options?: Array<{ label?: unknown }> }
    if (typeof fields.question !== 'string') return []
    const options = Array.isArray(fields.options) ? fields.options.map((option) => String(option.label)) : []
    return [{ question: fields.question, options }]
  })
}

/** What "always" covers: the same command word for word, or the tool itself when it has no command. */
function patternOf({ toolName, input }: Pick<PermissionRequest, 'toolName' | 'input'>): string {
  const exact = input['command'] ?? input['file_path'] ?? input['url']
  return typeof exact === 'string' ? exact : toolName
}

function answerFor(approval: Approval, request: AskedFor): PermissionAnswer {
  if (approval.state === 'allowed') {
    return request.kind === 'question'
      ? {
          behavior: 'allow',
          updatedInput: { ...request.input, answers: answersFor(request.input, approval.answer ?? '') },
        }
      : { behavior: 'allow' }
  }
  if (approval.state === 'denied' && request.kind === 'plan') return planRefused(approval.answer)
  const why = approval.answer ? `: ${approval.answer}` : '.'
  if (approval.state === 'denied') return { behavior: 'deny', message: `A person said no${why}` }
  return {
    behavior: 'deny',
    message: 'Nobody answered in time, so the answer is no. Go on without it, or say what you need.',
  }
}

/** With words it is to be changed and shown again; without, it is over and Claude waits for what comes next. */
function planRefused(change: string | undefined): PermissionAnswer {
  return change
    ? {
        behavior: 'deny',
        message: `A person wants the plan changed: ${change}\nRevise it and show it again.`,
      }
    : { behavior: 'deny', message: 'A person rejected the plan. Do not carry it out.', interrupt: true }
}

/** `2` or a label picks an option; several questions are answered line by line; other words stand for themselves. */
function answersFor(input: Record<string, unknown>, text: string): Record<string, string> {
  const questions = questionsOf(input)
  const lines = questions.length > 1 ? text.split('\n') : [text]
  return Object.fromEntries(
    questions.map(({ question, options }, i) => {
      const said = (lines[i] ?? lines[0] ?? '').trim()
      const byNumber = /^\d+$/.test(said) ? options[Number(said) - 1] : undefined
      const byLabel = options.find((label) => label.toLowerCase() === said.toLowerCase())
      return [question, byNumber ?? byLabel ?? said]
    }),
  )
}
