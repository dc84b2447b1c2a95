// The life of a coding session while a process runs it. The pool stores a row and starts the session here. The session takes
// one turn for each message (session-turn.ts), then waits for the next message or ends. Other processes and people may send
// messages, interrupt, kill, release or move it at any time. Every change is stored before it takes effect.
import type { CodingLifecycle, CodingSession, CodingStatus, EndReason } from '../../domain/coding-session.ts'
import type { Waiting } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { TurnResult } from '../../domain/turn.ts'
import { suspended } from '../approvals/approvals.ts'
import { describeRule } from '../approvals/permission-rules.ts'
import { Questions } from '../approvals/questions.ts'
import { Spending } from '../budget/spending.ts'
import type { SessionParts } from '../coding-parts.ts'
import { recoverInterruptedStart, wasStartInterrupted } from '../machines/recovery.ts'
import { sessionAtWork, notRunning } from '../refusals.ts'
import { LiveRecord } from './live-record.ts'
import type { RetriedWrites } from './live-record.ts'
import { addMessage, isCommand, joinTurn, undeliveredMessages } from './messages.ts'
import { oneLine } from './names.ts'
import { SessionOutput } from './output.ts'
import { handedOver, isIdle, requeued, seen } from './session-changes.ts'
import type { HandOver } from './session-changes.ts'
import { SessionConversation } from './session-conversation.ts'
import { failureText, limitOf, reasonOfExit, reasonOfFailure, SessionEnding } from './session-ending.ts'
import { makeSessionTimers } from './session-timers.ts'
import type { SessionTimers } from './session-timers.ts'
import { SessionTurn } from './session-turn.ts'
import type { TurnOutcome } from './session-turn.ts'

export const continuedElsewhere = 'It continues elsewhere. It can be resumed.'

/** Requests of a session to the other sessions of this process. */
interface OtherSessions {
  /** Idle sessions close their processes if too many are open. */
  makeRoom(): Promise<void>
  /** Ends the idle session that has this conversation open. */
  releaseConversation(sdkSessionId: string): Promise<void>
}

export class RunningSession {
  readonly claude: SessionConversation
  #parts: SessionParts
  #record: LiveRecord
  #questions: Questions
  #spending: Spending
  #timers: SessionTimers
  #output: SessionOutput
  #ending: SessionEnding
  #turn: SessionTurn
  #working: Promise<void> | undefined

  constructor(parts: SessionParts, session: CodingSession, others: OtherSessions) {
    const record = new LiveRecord(parts, session, () => this.#killLater('crash', ''))
    this.#parts = parts
    this.#record = record
    this.#timers = this.#makeTimers()
    this.#output = new SessionOutput(parts, record)
    this.#ending = new SessionEnding(parts, record, () => {
      this.#timers.stopAll()
      return this.#output.finish()
    })
    this.#questions = new Questions(parts, record, {
      over: this.#ending.signal,
      metered: () => this.#spending.metered,
      onAsked: () => this.#timers.questionAsked(),
      onAnswered: () => this.#timers.activity(),
      onRule: (rule) => this.#output.addLater('tool', `allowed by rule ${rule.id}: ${describeRule(rule)}`),
      onRefused: (toolUseId, text) => this.#output.refused(toolUseId, text),
    })
    this.#spending = new Spending(parts, record, (signal) => this.#holdForBudget(signal))
    this.claude = new SessionConversation(parts, record, {
      askPermission: (request, signal) => this.#questions.askPermission(request, signal),
      beforeTool: (at, signal) => this.#spending.beforeTool(at, signal),
      addNotice: (text) => this.#output.addLater('notice', text),
      makeRoom: () => others.makeRoom(),
      onExit: (end) => this.#onExit(end),
    })
    this.#turn = new SessionTurn(parts, {
      record,
      questions: this.#questions,
      claude: this.claude,
      spending: this.#spending,
      timers: this.#timers,
      output: this.#output,
      over: this.#ending.signal,
      releaseConversation: (sdkSessionId) => others.releaseConversation(sdkSessionId),
    })
  }

  get session(): CodingSession {
    return this.#record.session
  }

  /** The text that Claude is writing now; the row has it a second later. */
  get writing(): string {
    return this.#output.writing
  }

  get writes(): RetriedWrites {
    return this.#record.writes
  }

  /** Does the session only wait for its next message? Then its process may be parked. */
  get isIdle(): boolean {
    return this.claude.current?.busy === false && !this.#working && !this.#isOver
  }

  /** Resolves when the session has ended, was suspended, or belongs to another machine. */
  get over(): Promise<CodingSession> {
    return this.#ending.over
  }

  get #isOver(): boolean {
    return this.#ending.isOver
  }

  get #nextMessage(): string | undefined {
    return this.session.inbox[0]
  }

  /** Takes turns in the background until no message waits. */
  start(): void {
    if (this.#isOver) return
    if (this.#nextMessage === undefined && !wasStartInterrupted(this.session)) return this.#startIdleTimer()
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
      // The loop did not see messages that arrived while the last turn ended.
      this.start()
    })
  }

  /** Never throws: a failure ends the session and is part of its end. */
  async #work(): Promise<void> {
    try {
      await recoverInterruptedStart(this.#parts, this.#record, this.#ending.signal)
      while (this.#nextMessage !== undefined && !this.#isOver)
        await this.#turn.take(this.#nextMessage, (outcome) => this.#afterTurn(outcome))
    } catch (thrown) {
      if (this.#isOver) return
      const error = asRockpoolError(thrown)
      const failure = { event: 'coding-failed', coding: this.session.id, error: error.message }
      this.#parts.log.error(failure, 'A coding session failed; ending it.')
      await this.claude.kill()
      const reason = this.session.turns === 0 ? 'start-failed' : 'turn-failed'
      await this.#end('failed', 'ended', reason, error.message)
    }
  }

  async #afterTurn(outcome: TurnOutcome): Promise<void> {
    if (outcome.kind === 'session-ended') return
    if (outcome.kind === 'interrupted') return this.#waitForInput('', false)
    if (outcome.kind === 'over-budget') return this.#end('failed', 'ended', 'budget', outcome.refusal)
    const { end, text } = outcome.result
    if (end.kind === 'failed') return this.#endFailed(end)
    if (this.#nextMessage !== undefined) return
    const isCompleted = end.kind === 'completed'
    if (this.session.request.multiTurn || !isCompleted)
      return this.#waitForInput(oneLine(text, 200), isCompleted)
    await this.claude.close()
    await this.#end('completed', 'ended', 'done', '')
  }

  async #waitForInput(about: string, notify: boolean): Promise<void> {
    if (this.#isOver) return
    const waiting: Waiting = { for: 'input', since: this.#parts.clock.now(), about }
    // Before the first `await`: a message that arrives meanwhile stops this timer.
    this.#timers.waitForMessage(this.#parts.config.idleTimeoutMinutes * 60_000)
    const unseen = notify || this.session.unseen
    await this.#record.change({ status: 'running', lifecycle: 'awaiting-input', waiting, unseen })
    if (notify && !this.#isOver) await this.#parts.notifications.onWaitingForInput(this.session)
  }

  /** No message waits: the session was handed over by another machine, or has taken its turn. */
  #startIdleTimer(): void {
    if (this.session.lifecycle === 'awaiting-input')
      this.#timers.waitForMessage(this.#parts.config.idleTimeoutMinutes * 60_000)
  }

  /** A message for Claude: it joins the running turn or starts the next one. Resolves when it is on disk. */
  async send(text: string, autoResponds?: number): Promise<void> {
    if (this.#isOver) throw this.writes.failure ?? notRunning(this.session)
    this.#timers.messageArrived()
    const fields = autoResponds === undefined ? seen : { autoResponds, ...seen }
    const to = { conversation: this.claude.current, over: this.#ending.signal }
    if (!this.#mayJoin(text)) await addMessage(this.#record, text, fields)
    else if (await joinTurn(this.#record, text, to, fields))
      return this.#isOver ? undefined : this.#output.addLater('prompt', text)
    this.start()
  }

  /** A command is for Claude Code itself and needs its own turn. At a budget limit nothing joins a turn: that would be one
   *  more call to the model before a person is asked. */
  #mayJoin(text: string): boolean {
    return this.claude.current?.busy === true && !isCommand(text) && !this.#questions.limitReached()
  }

  /** Stops the current turn. Resolves when the turn is over, so that the next message starts a turn of its own. A session
   *  that waits for its repository does nothing yet and keeps waiting. */
  async interrupt(): Promise<void> {
    if (this.#parts.repos.holds(this.session.id)) await this.#turn.interrupt()
  }

  /** Looking at the result does not count as activity of the session. */
  async markSeen(): Promise<void> {
    await this.#record.request(({ lastActivityAt }) => ({ ...seen, lastActivityAt }))
  }

  /** Ends the process tree at once and ignores what still arrives. Throws when the disk is full: then the process has ended,
   *  and the end is stored when there is room. */
  async kill(reason: EndReason, message = ''): Promise<void> {
    await this.#stopOnce(reason, () => this.#endKilled(reason, message))
  }

  /** Before the process ends: as `kill`, but the next gateway starts what has not begun yet. */
  async stopForRestart(message: string): Promise<void> {
    await this.#stopOnce('shutdown', () => this.#endForRestart(message))
  }

  async #stopOnce(reason: EndReason, end: () => Promise<void>): Promise<void> {
    if (!this.#isOver) {
      this.#turn.leave()
      const why = reason === 'shutdown' ? suspended : undefined
      void this.#record.logFailure(this.#ending.once(() => this.#endProcess().then(end), why))
    }
    await this.#ending.stored()
  }

  async #endProcess(): Promise<void> {
    await this.claude.kill()
    // Claude's id may be on its way to the row.
    await this.#record.settled()
  }

  async #endForRestart(message: string): Promise<void> {
    // Nothing of its turn has begun, and its messages are in its inbox: the next gateway starts it.
    if (this.#hasConversation && this.session.lifecycle === 'queued')
      return this.#record.change({ owner: undefined })
    if (this.#hasConversation && isIdle(this.session)) return this.#ending.suspendIdle('shutdown')
    if (this.#hasConversation) return this.#endKilled('shutdown', message)
    // Without a conversation there is nothing to resume: the next gateway starts the session again.
    await this.#expireRequests()
    await this.#record.change(requeued)
  }

  async #endKilled(reason: EndReason, message: string): Promise<void> {
    if (reason !== 'user' && this.#hasConversation)
      return this.#ending.write('killed', 'suspended', reason, message)
    if (reason === 'shutdown') await this.#expireRequests()
    await this.#ending.write('killed', 'ended', reason, message)
  }

  get #hasConversation(): boolean {
    return this.session.sdkSessionId !== undefined
  }

  #expireRequests(): Promise<void> {
    return this.#parts.approvals.expireOpen(({ codingId }) => codingId === this.session.id)
  }

  /** Closes the process, so that another process can continue the conversation. */
  async release(): Promise<void> {
    // A change of the state may still be on its way to the disk, and this object knows it only afterwards.
    await this.#record.settled()
    if (this.session.lifecycle !== 'awaiting-input') throw sessionAtWork(this.session)
    this.#ending.stop()
    await this.claude.close()
    await this.#end('killed', 'suspended', 'released', continuedElsewhere)
  }

  /** Moves the session to another machine: stops the turn, lets Claude close its transcript, then gives up the row. No
   *  notification: the session has not ended. */
  async handOver(to: HandOver): Promise<void> {
    if (this.#isOver) throw notRunning(this.session)
    const wasCut = this.claude.current?.busy === true
    this.#ending.stop()
    this.#turn.leave()
    this.#timers.stopAll()
    await this.claude.close()
    await this.#turn.current
    await this.#spending.metered
    await this.#output.finish()
    await this.#output.add('notice', `Moved to ${to.machine}: ${to.workdir}`)
    const pending = await undeliveredMessages(this.#parts.agents, this.session)
    await this.#record.change((session) => handedOver(session, to, { pending, wasCut }))
    this.#ending.finish()
  }

  async #endFailed(end: Extract<TurnResult['end'], { kind: 'failed' }>): Promise<void> {
    await this.claude.close()
    const limit = limitOf(end)
    const text = failureText(end, this.session)
    // Nothing is lost: what Claude did so far is in its transcript, and messages that wait stay in the row.
    if (limit)
      return this.#ending.once(() =>
        this.#ending.write('killed', 'suspended', 'usage-limit', end.what ?? text, limit),
      )
    const lifecycle = end.why === 'process-died' || end.why === 'stalled' ? 'suspended' : 'ended'
    await this.#end('failed', lifecycle, reasonOfFailure(end.why), text)
  }

  /** Without a raised limit the session ends; it can be resumed with another budget. */
  async #holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    const refusal = await this.#questions.holdForBudget(signal)
    if (refusal === undefined || signal.aborted || this.#isOver) return refusal
    this.#ending.stop()
    this.#turn.leave()
    const ended = this.claude.close().then(() => this.#end('failed', 'ended', 'budget', refusal))
    void this.#record.logFailure(ended)
    return refusal
  }

  #onExit(end: { why: string; message?: string }): void {
    if (this.#isOver || this.#working) return
    const message = end.message ?? 'Its process ended. It can be resumed.'
    void this.#record.logFailure(this.#end('killed', 'suspended', reasonOfExit(end.why), message))
  }

  #end(status: CodingStatus, lifecycle: CodingLifecycle, reason: EndReason, message: string): Promise<void> {
    return this.#ending.once(() => this.#ending.write(status, lifecycle, reason, message))
  }

  #killLater(reason: EndReason, message: string): void {
    void this.#record.logFailure(this.kill(reason, message))
  }

  #makeTimers(): SessionTimers {
    return makeSessionTimers(this.#parts.clock, this.session.request.timeoutSeconds, {
      isBusy: () => this.claude.current?.busy !== false || this.session.lifecycle !== 'active',
      onSilence: () => void this.#waitForInput('', true),
      onStuck: (seconds) => this.#killLater('timeout', `It did nothing for ${seconds} s. It can be resumed.`),
      onLongRun: () => void this.#parts.notifications.onLongRunning(this.session, this.#turn.startedAt),
      onIdle: () => this.#killLater('idle-timeout', 'No message came for a while. It can be resumed.'),
    })
  }
}
