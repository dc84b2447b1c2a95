// One turn of a coding session: wait for the repository, prepare the message, check the budget, start Claude, pass the message
// on, follow what Claude does, record the result. What happens after the turn is decided by running-session.ts.
import type { Conversation, Prompt } from '../../domain/agent.ts'
import { kindOf } from '../../domain/coding-session.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import type { Questions } from '../approvals/questions.ts'
import type { Spending } from '../budget/spending.ts'
import type { SessionParts } from '../coding-parts.ts'
import { chooseWhenFree } from '../queue/choose.ts'
import type { LiveRecord } from './live-record.ts'
import { isCommand, moveToGiven, withAside } from './messages.ts'
import { withOriginMarker } from './origin.ts'
import type { SessionOutput } from './output.ts'
import { afterEvent, afterTurn, withoutGiven } from './session-changes.ts'
import type { SessionConversation } from './session-conversation.ts'
import type { SessionTimers } from './session-timers.ts'

export type TurnOutcome =
  | { kind: 'taken'; result: TurnResult }
  /** A budget limit is reached and was not raised. */
  | { kind: 'over-budget'; refusal: string }
  /** Interrupted before Claude got the message: the message is withdrawn. */
  | { kind: 'interrupted' }
  /** The session ended meanwhile. */
  | { kind: 'session-ended' }

interface TurnParts {
  record: LiveRecord
  questions: Questions
  claude: SessionConversation
  spending: Spending
  timers: SessionTimers
  output: SessionOutput
  /** Fires when the session is about to end. */
  over: AbortSignal
  /** Ends the idle session that has this conversation open, so that this one continues it. */
  releaseConversation: (sdkSessionId: string) => Promise<void>
}

const sessionEnded: TurnOutcome = { kind: 'session-ended' }

export class SessionTurn {
  /** When Claude got the message of the current turn. */
  startedAt = 0
  /** Resolves when the current turn is over, however it ended. */
  current: Promise<void> = Promise.resolve()
  #shared: SessionParts
  #parts: TurnParts
  /** Interrupts what happens before Claude gets the message: the question about a budget, the start of Claude. */
  #interrupted = new AbortController()

  constructor(shared: SessionParts, parts: TurnParts) {
    this.#shared = shared
    this.#parts = parts
  }

  /** The session keeps its repository until `settle` has stored what follows from the outcome. */
  take(message: string, settle: (outcome: TurnOutcome) => Promise<void>): Promise<void> {
    const turn = this.#take(message, settle)
    this.current = turn.catch(() => {})
    return turn
  }

  async interrupt(): Promise<void> {
    this.#interrupted.abort()
    const { claude, record } = this.#parts
    if (claude.current?.busy) await claude.current.interrupt()
    await record.writes.orFail(this.current)
  }

  leave(): void {
    const { timers, spending, record } = this.#parts
    timers.turnEnded()
    spending.turnEnded()
    this.#shared.repos.leave(record.session.id)
  }

  async #take(message: string, settle: (outcome: TurnOutcome) => Promise<void>): Promise<void> {
    if (!(await this.#enterRepository())) return
    this.#interrupted = new AbortController()
    try {
      await settle(await this.#converse(message))
    } finally {
      this.leave()
    }
  }

  /** Waits for the turn of this session in its repository. False when the session ended meanwhile. */
  #enterRepository(): Promise<boolean> {
    const { record, over } = this.#parts
    const { id, lifecycle, request } = record.session
    const entered = this.#shared.repos.enter(request.workdir, id, over)
    const mustWait = !this.#shared.repos.holds(id)
    if (mustWait && lifecycle !== 'queued') record.later({ lifecycle: 'queued', waiting: undefined })
    return entered
  }

  async #converse(message: string): Promise<TurnOutcome> {
    const { record, questions, claude, over } = this.#parts
    const interrupted = this.#interrupted.signal
    const text = await this.#prepare(message)
    const { text: prompt, left: aside } = withAside(record.session, text)
    await this.#showAsStarted(text)
    const refusal = await questions.holdForBudget(interrupted)
    if (over.aborted) return sessionEnded
    if (refusal !== undefined && !interrupted.aborted) return { kind: 'over-budget', refusal }
    const [conversation] = await Promise.all([claude.ready(), this.#recordBase()])
    if (over.aborted) return sessionEnded
    const uuid = await moveToGiven(record)
    if (over.aborted) return sessionEnded
    if (interrupted.aborted) {
      await record.change((session) => withoutGiven(session, [uuid]))
      return { kind: 'interrupted' }
    }
    return this.#askClaude(conversation, { text: prompt, uuid, command: isCommand(text) }, aside)
  }

  /** The first message of a new conversation gets the marker by which scans of Claude's files recognise our sessions. Sessions of
   *  other agents are recognised by their rows only. */
  async #prepare(message: string): Promise<string> {
    const { record, over, releaseConversation } = this.#parts
    const { request, startedAt } = record.session
    if (startedAt !== undefined) return message
    if (request.chooseWhenFree) {
      const resume = await chooseWhenFree(this.#shared, record.session, over)
      if (resume && !resume.fork) await releaseConversation(resume.sdkSessionId)
      await record.change({
        request: { ...request, resume, chooseWhenFree: false },
        resumedFrom: resume?.sdkSessionId,
      })
    }
    const { request: chosen, sdkSessionId } = record.session
    const isKnown =
      chosen.resume !== undefined || sdkSessionId !== undefined || kindOf({ request }) !== 'claude'
    return isKnown ? message : withOriginMarker(request.agentId, message)
  }

  async #showAsStarted(text: string): Promise<void> {
    const { record, output } = this.#parts
    const { startedAt } = record.session
    await output.add('prompt', text)
    await record.change({
      lifecycle: startedAt === undefined ? 'starting' : 'active',
      startedAt: startedAt ?? this.#shared.clock.now(),
      waiting: undefined,
    })
  }

  /** Before the first turn. A failure only means that the review shows less. */
  async #recordBase(): Promise<void> {
    const { record } = this.#parts
    const { base: known, turns, request } = record.session
    if (known || turns > 0) return
    const base = await this.#shared.readBase(request.workdir).catch(() => undefined)
    if (base) await record.change({ base })
  }

  /** `aside`: text for Claude that must wait for the next message. */
  async #askClaude(
    conversation: Conversation,
    prompt: Prompt,
    aside: string | undefined,
  ): Promise<TurnOutcome> {
    const { record, spending, timers, output, over } = this.#parts
    this.startedAt = this.#shared.clock.now()
    timers.turnStarted()
    spending.turnStarted()
    const result = await conversation.turn(prompt, (event) => this.#onEvent(event))
    if (over.aborted) return sessionEnded
    await output.finish()
    await spending.settle(result, prompt.uuid)
    await record.change((session) => ({ ...afterTurn(session, result, spending.costUsd), aside }))
    return { kind: 'taken', result }
  }

  #onEvent(event: TurnEvent): void {
    const { record, spending, timers, output, over } = this.#parts
    if (over.aborted) return
    timers.activity()
    const change = afterEvent(event)
    if (change) record.later(change)
    if (event.type === 'tool-start') timers.toolStarted(event.toolUseId)
    if (event.type === 'tool-end') timers.toolEnded(event.toolUseId)
    if (event.type === 'usage') spending.report(event)
    output.addEvent(event)
  }
}
