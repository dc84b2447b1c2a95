// One coding session while it runs: its conversation with Claude, its turns, and what it waits for. Every change is stored
// before it takes effect.
import type { Conversation, Prompt } from '../../domain/agent.ts'
import type { CodingLifecycle, CodingSession, CodingStatus, EndReason } from '../../domain/coding-session.ts'
import type { OutputKind, Waiting } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import { failureText, reasonOfFailure, reasonOfGoing } from './end-reason.ts'
import { givenTo } from '../machines/hand-over.ts'
import type { HandOver } from '../machines/hand-over.ts'
import { LiveRecord } from './live-record.ts'
import { Messages, without } from './session-messages.ts'
import { isCommand, oneLine } from './names.ts'
import { begunAgain } from '../machines/recovery.ts'
import { isAtWork, notRunning } from '../refusals.ts'
import { OutputLog, passOn } from './output-log.ts'
import { firstMessage, withAside } from './opening.ts'
import type { OtherRuns } from './opening.ts'
import { mayHaveStarted, takeUpStart } from './interrupted-start.ts'
import { EventOutput } from './event-output.ts'
import type { CodingParts } from '../coding-parts.ts'
import { Questions } from '../approvals/questions.ts'
import type { RetriedWrites } from './retried-writes.ts'
import { SessionConversation } from './session-conversation.ts'
import { changeAfter, turnTaken } from './session-changes.ts'
import { SessionEnding } from './session-ending.ts'
import { Spending } from '../budget/spending.ts'
import { unsaidIn } from './pending-messages.ts'
import { Vigil } from './session-timers.ts'
import type { VigilActs } from './session-timers.ts'

export const goesOnElsewhere = 'It goes on elsewhere. It can be resumed.'

export class CodingRun {
  #parts: CodingParts
  #others: OtherRuns
  #record: LiveRecord
  #messages: Messages
  #questions: Questions
  readonly claude: SessionConversation
  #working: Promise<void> | undefined
  #turn: Promise<void> | undefined
  #ending: SessionEnding
  /** Ends what is done before a turn: asking for a budget, starting Claude. */
  #turnStop = new AbortController()
  #spending: Spending
  #vigil: Vigil
  #turnBeganAt = 0
  #output: OutputLog
  #said: EventOutput

  constructor(parts: CodingParts, session: CodingSession, others: OtherRuns) {
    this.#parts = parts
    this.#others = others
    this.#record = new LiveRecord(parts, session, () => this.#killLater('crash', ''))
    this.#ending = new SessionEnding(parts, this.#record, async () => {
      this.#vigil.end()
      this.#said.flush()
      await this.#output.settled()
    })
    this.#messages = new Messages(this.#record)
    this.#questions = new Questions(parts, this.#record, {
      over: this.#ending.signal,
      metered: () => this.#spending.metered,
      onAsked: () => this.#vigil.personAsked(),
      onAnswered: () => this.#vigil.sign(),
    })
    this.claude = new SessionConversation(parts, this.#record, {
      askPermission: (asked, signal) => this.#questions.askPermission(asked, signal),
      beforeTool: (at, signal) => this.#spending.beforeTool(at, signal),
      say: (notice) => this.#say('notice', notice),
      makeRoom: () => others.makeRoom(),
      onGone: (end) => this.#onProcessGone(end),
    })
    this.#spending = new Spending(parts, this.#record, (signal) => this.#holdForBudget(signal))
    this.#vigil = new Vigil(parts.clock, session.request.timeoutSeconds, this.#acts())
    this.#said = new EventOutput(parts, this.#record, (kind, text) => this.#say(kind, text))
    this.#output = new OutputLog(parts, this.#record, (blocks) => passOn(parts, this.#record, blocks))
  }

  get session(): CodingSession {
    return this.#record.session
  }

  get writes(): RetriedWrites {
    return this.#record.writes
  }

  /** Does it only wait for the next message? Then its process may be parked. */
  get isIdle(): boolean {
    return this.claude.current?.busy === false && !this.#working && !this.isOver
  }

  get over(): Promise<CodingSession> {
    return this.#ending.over
  }

  get isOver(): boolean {
    return this.#ending.isOver
  }

  /** Begins: takes turns in the background until no message waits. */
  start(): void {
    if (this.isOver) return
    if (this.#messages.next === undefined && !mayHaveStarted(this.session)) return this.#stayIdle()
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
      // What came while the last turn ended was not seen by the loop.
      this.start()
    })
  }

  /** A message for Claude: joins the running turn, or begins the next one. It is on disk when this resolves. */
  async send(text: string, autoResponds?: number): Promise<void> {
    if (this.isOver) throw this.writes.failure ?? notRunning(this.session)
    this.#vigil.messageCame()
    const beside = autoResponds === undefined ? {} : { autoResponds }
    const to = { conversation: this.claude.current, over: this.#ending.signal }
    if (!this.#mayJoin(text)) await this.#messages.add(text, beside)
    else if (await this.#messages.join(text, to, beside))
      return this.isOver ? undefined : this.#say('prompt', text)
    this.start()
  }

  /** A command is for Claude Code itself and has a turn of its own. At a limit nothing joins a turn: it would be one more
   *  call to the model before anybody is asked. */
  #mayJoin(text: string): boolean {
    return this.claude.current?.busy === true && !isCommand(text) && !this.#questions.limitReached()
  }

  /** Stops what it does. Resolves when the turn is over, so that what is said next begins a turn of its own. One that
   *  waits for its repository does nothing yet, and goes on waiting. */
  async interrupt(): Promise<void> {
    if (!this.#parts.repos.holds(this.session.id)) return
    this.#turnStop.abort()
    if (this.claude.current?.busy) await this.claude.current.interrupt()
    await this.writes.orFail(this.#turn ?? Promise.resolve())
  }

  /** Ends the process tree at once; what still arrives is ignored. Throws when the disk is full: then the process has ended, and
   *  the end is stored when there is room. */
  async kill(reason: EndReason, message = ''): Promise<void> {
    if (!this.isOver) {
      this.#leaveTurn()
      void this.#record.settle(this.#ending.once(() => this.#endKilled(reason, message)))
    }
    await this.#ending.stored()
  }

  async #endKilled(reason: EndReason, message: string): Promise<void> {
    await this.claude.kill()
    // Claude's id may be on its way to the row.
    await this.#record.settled()
    if (reason === 'shutdown' && this.session.sdkSessionId === undefined) {
      // Claude has nothing that could be resumed: the session starts again with the next gateway.
      return this.#record.change(begunAgain)
    }
    const resumable = reason !== 'user' && this.session.sdkSessionId !== undefined
    const lifecycle = resumable ? 'suspended' : 'ended'
    await this.#ending.write({ status: 'killed', lifecycle, reason, message })
  }

  /** Gives it to another machine: what it does is stopped, Claude closes its transcript, and from then on the row is
   *  theirs. Nobody is told that it ended. */
  async handOver(to: HandOver): Promise<void> {
    if (this.isOver) throw notRunning(this.session)
    const wasCut = this.claude.current?.busy === true
    this.#ending.stop()
    this.#leaveTurn()
    this.#vigil.end()
    await this.claude.close()
    await this.#turn
    await this.#spending.metered
    await this.#output.add('notice', `Moved to ${to.machine}: ${to.workdir}`)
    await this.#output.settled()
    const unsaid = await unsaidIn(this.#parts, this.session)
    await this.#record.change((session) => givenTo(session, to, { unsaid, wasCut }))
    this.#ending.finish()
  }

  /** Its process ends in order; somebody goes on with it elsewhere. */
  async release(): Promise<void> {
    if (this.session.lifecycle !== 'awaiting-input') throw isAtWork(this.session)
    this.#ending.stop()
    await this.claude.close()
    await this.#end('killed', 'suspended', 'released', goesOnElsewhere)
  }

  /** Takes turns until no message waits. Never throws: what goes wrong ends the session and is said. */
  async #work(): Promise<void> {
    try {
      await takeUpStart(this.#parts, this.#record, this.#ending.signal)
      for (let { next } = this.#messages; next !== undefined && !this.isOver; { next } = this.#messages) {
        const turn = this.#takeTurn(next)
        // Whoever waits for its end only wants to know that it is over; what went wrong is dealt with here.
        this.#turn = turn.catch(() => {})
        await turn
      }
    } catch (thrown) {
      if (this.isOver) return
      const error = asRockpoolError(thrown)
      const failure = { event: 'coding-failed', coding: this.session.id, error: error.message }
      this.#parts.log.error(failure, 'A coding session failed.')
      await this.claude.kill()
      const reason = this.session.turns === 0 ? 'start-failed' : 'turn-failed'
      await this.#end('failed', 'ended', reason, error.message)
    }
  }

  async #takeTurn(said: string): Promise<void> {
    if (!(await this.#enterRepo())) return
    this.#turnStop = new AbortController()
    try {
      const isFirst = this.session.startedAt === undefined
      const text = isFirst
        ? await firstMessage(this.#parts, this.#record, said, this.#others, this.#ending.signal)
        : said
      const told = withAside(this.session, text)
      await this.#output.add('prompt', text)
      await this.#record.change({
        lifecycle: isFirst ? 'starting' : 'active',
        startedAt: this.session.startedAt ?? this.#parts.clock.now(),
        waiting: undefined,
      })
      const refusal = await this.#questions.holdForBudget(this.#turnStop.signal)
      if (this.isOver) return
      if (refusal !== undefined && !this.#turnStop.signal.aborted)
        return await this.#end('failed', 'ended', 'budget', refusal)
      const conversation = await this.claude.ready()
      if (this.isOver) return
      const uuid = await this.#messages.give()
      if (this.isOver) return
      if (this.#turnStop.signal.aborted) return await this.#stoppedBefore(uuid)
      await this.#converse(conversation, { text: told.text, uuid, command: isCommand(text) }, told.left)
    } finally {
      this.#leaveTurn()
    }
  }

  /** `aside`: what Claude is still to be told afterwards. */
  async #converse(conversation: Conversation, prompt: Prompt, aside: string | undefined): Promise<void> {
    this.#turnBeganAt = this.#parts.clock.now()
    this.#vigil.turnBegan()
    this.#spending.turnBegan()
    const result = await conversation.turn(prompt, (event) => this.#onEvent(event))
    if (!this.isOver) await this.#afterTurn(result, prompt.uuid, aside)
  }

  /** Waits for its place; a session that has to wait says so. False when it ended meanwhile. */
  #enterRepo(): Promise<boolean> {
    const { id, lifecycle, request } = this.session
    const entered = this.#parts.repos.enter(request.workdir, id, this.#ending.signal)
    const mustWait = !this.#parts.repos.holds(id)
    if (mustWait && lifecycle !== 'queued') this.#record.later({ lifecycle: 'queued', waiting: undefined })
    return entered
  }

  /** Interrupted before Claude got the message: it was said, and is not said again. */
  async #stoppedBefore(uuid: string): Promise<void> {
    await this.#record.change((session) => without(session, [uuid]))
    await this.#waitForInput('', false)
  }

  #onEvent(event: TurnEvent): void {
    if (this.isOver) return
    this.#vigil.sign()
    const change = changeAfter(event)
    if (change) this.#record.later(change)
    if (event.type === 'tool-start') this.#vigil.toolBegan(event.toolUseId)
    if (event.type === 'tool-end') this.#vigil.toolEnded(event.toolUseId)
    if (event.type === 'usage') this.#spending.report(event)
    this.#said.see(event)
  }

  async #afterTurn(result: TurnResult, turnId: string, aside: string | undefined): Promise<void> {
    this.#said.flush()
    await this.#output.settled()
    await this.#spending.settle(result, turnId)
    await this.#record.change((session) => ({
      ...without(session, result.prompts),
      ...turnTaken(session, result, this.#spending.costUsd),
      aside,
    }))
    if (result.end.kind === 'failed') {
      const { why } = result.end
      await this.claude.close()
      const lifecycle = why === 'process-died' || why === 'stalled' ? 'suspended' : 'ended'
      return this.#end('failed', lifecycle, reasonOfFailure(why), failureText(result.end, this.session))
    }
    if (this.#messages.next !== undefined) return
    if (!this.session.request.multiTurn && result.end.kind === 'completed') {
      await this.claude.close()
      return this.#end('completed', 'ended', 'done', '')
    }
    await this.#waitForInput(oneLine(result.text, 200), result.end.kind === 'completed')
  }

  /** Nothing is to be said to it: one that another machine handed over, or that has done its turn. */
  #stayIdle(): void {
    if (this.session.lifecycle === 'awaiting-input')
      this.#vigil.waitsForMessage(this.#parts.config.idleTimeoutMinutes * 60_000)
  }

  async #waitForInput(about: string, tell: boolean): Promise<void> {
    if (this.isOver) return
    const waiting: Waiting = { for: 'input', since: this.#parts.clock.now(), about }
    // Before anything is awaited: a message that comes meanwhile stops this clock.
    this.#vigil.waitsForMessage(this.#parts.config.idleTimeoutMinutes * 60_000)
    await this.#record.change({ status: 'running', lifecycle: 'awaiting-input', waiting })
    if (tell && !this.isOver) await this.#parts.notifications.onWaitingForInput(this.session)
  }

  /** If nobody raises the limit, the session ends, and can be resumed with another budget. */
  async #holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    const refusal = await this.#questions.holdForBudget(signal)
    if (refusal === undefined || signal.aborted || this.isOver) return refusal
    this.#ending.stop()
    this.#leaveTurn()
    const ended = this.claude.close().then(() => this.#end('failed', 'ended', 'budget', refusal))
    void this.#record.settle(ended)
    return refusal
  }

  #onProcessGone(end: { why: string; message?: string }): void {
    if (this.isOver || this.#working) return
    const reason = reasonOfGoing(end.why)
    const message = end.message ?? 'Its process ended. It can be resumed.'
    void this.#record.settle(this.#end('killed', 'suspended', reason, message))
  }

  #end(status: CodingStatus, lifecycle: CodingLifecycle, reason: EndReason, message: string): Promise<void> {
    return this.#ending.once(() => this.#ending.write({ status, lifecycle, reason, message }))
  }

  #killLater(reason: EndReason, message: string): void {
    void this.#record.settle(this.kill(reason, message))
  }

  #leaveTurn(): void {
    this.#vigil.turnOver()
    this.#spending.turnOver()
    this.#parts.repos.leave(this.session.id)
  }

  #acts(): VigilActs {
    return {
      isBusy: () => this.claude.current?.busy !== false || this.session.lifecycle !== 'active',
      onSilence: () => void this.#waitForInput('', true),
      onStuck: (seconds) => this.#killLater('timeout', `It did nothing for ${seconds} s. It can be resumed.`),
      onLongRun: () => void this.#parts.notifications.onLongRunning(this.session, this.#turnBeganAt),
      onIdle: () => this.#killLater('idle-timeout', 'No message came for a while. It can be resumed.'),
    }
  }

  #say(kind: OutputKind, text: string): void {
    void this.#record.settle(this.#output.add(kind, text))
  }
}
