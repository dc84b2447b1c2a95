// One coding session while it runs: its conversation with Claude, its turns, and what it waits for. Every change is on
// disk before anybody hears of it.
import type { Conversation, Prompt } from '../../domain/agent.ts'
import type { CodingLifecycle, CodingSession, CodingStatus, EndReason } from '../../domain/coding-session.ts'
import type { OutputKind, Waiting } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import { reasonOfFailure, reasonOfGoing } from './end-reason.ts'
import { givenTo } from '../machines/hand-over.ts'
import type { HandOver } from '../machines/hand-over.ts'
import { LiveRecord } from './live-record.ts'
import { Messages } from './session-messages.ts'
import { isCommand, oneLine, outputOf } from './names.ts'
import { begunAgain } from '../machines/recovery.ts'
import { isAtWork, notRunning } from '../refusals.ts'
import { OutputLog, passOn } from './output-log.ts'
import { firstMessage, openingOf, withAside } from './opening.ts'
import type { CodingParts } from '../coding-parts.ts'
import { Questions } from '../approvals/questions.ts'
import { ended, turnTaken } from './session-changes.ts'
import { Spending } from '../budget/spending.ts'
import { unsaidIn } from './pending-messages.ts'
import { Vigil } from './session-timers.ts'
import type { VigilActs } from './session-timers.ts'

export const goesOnElsewhere = 'It goes on elsewhere. It can be resumed.'

export class CodingRun {
  /** Resolves when the session has ended or was suspended. */
  readonly over: Promise<CodingSession>
  #parts: CodingParts
  #record: LiveRecord
  #messages: Messages
  #questions: Questions
  #conversation: Conversation | undefined
  #opening: Promise<Conversation> | undefined
  #working: Promise<void> | undefined
  #turn: Promise<void> | undefined
  #stop = new AbortController()
  /** Ends what is done before a turn: asking for a budget, starting Claude. */
  #turnStop = new AbortController()
  #finish!: (session: CodingSession) => void
  #spending: Spending
  #vigil: Vigil
  #turnBeganAt = 0
  #output: OutputLog

  constructor(parts: CodingParts, session: CodingSession) {
    this.#parts = parts
    this.#record = new LiveRecord(parts, session, () => void this.kill('crash'))
    this.#messages = new Messages(this.#record)
    this.#questions = new Questions(parts, this.#record, {
      over: this.#stop.signal,
      metered: () => this.#spending.metered,
      onAsked: () => this.#vigil.personAsked(),
      onAnswered: () => this.#vigil.sign(),
    })
    this.#spending = new Spending(parts, this.#record, (signal) => this.#holdForBudget(signal))
    this.#vigil = new Vigil(parts.clock, session.request.timeoutSeconds, this.#acts())
    this.#output = new OutputLog(parts, session.id, (blocks) => passOn(parts, this.#record, blocks))
    this.over = new Promise((resolve) => (this.#finish = resolve))
  }

  get session(): CodingSession {
    return this.#record.session
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted
  }

  /** Begins: takes turns in the background until no message waits. */
  start(): void {
    if (this.isOver) return
    if (this.#messages.next === undefined) return this.#stayIdle()
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined
      // What came while the last turn ended was not seen by the loop.
      this.start()
    })
  }

  /** A message for Claude: joins the running turn, or begins the next one. It is on disk when this resolves. */
  async send(text: string): Promise<void> {
    if (this.isOver) throw notRunning(this.session)
    this.#vigil.messageCame()
    if (!this.#mayJoin(text)) await this.#messages.add(text)
    else if (await this.#messages.join(text, this.#conversation, this.#stop.signal))
      return this.isOver ? undefined : this.#say('prompt', text)
    this.start()
  }

  /** A command is for Claude Code itself and has a turn of its own. At a limit nothing joins a turn: it would be one more
   *  call to the model before anybody is asked. */
  #mayJoin(text: string): boolean {
    return this.#conversation?.busy === true && !isCommand(text) && !this.#questions.limitReached()
  }

  /** Stops what it does. Resolves when the turn is over, so that what is said next begins a turn of its own. One that
   *  waits for its repository does nothing yet, and goes on waiting. */
  async interrupt(): Promise<void> {
    if (!this.#parts.repos.holds(this.session.id)) return
    this.#turnStop.abort()
    if (this.#conversation?.busy) await this.#conversation.interrupt()
    await this.#turn
  }

  /** Ends it now: the process tree goes, and whatever still arrives is ignored. */
  async kill(reason: EndReason, message = ''): Promise<void> {
    if (this.isOver) return
    this.#stop.abort()
    this.#leaveTurn()
    // One that is just being started is ended as soon as it is there; that it cannot be started does not matter any more.
    const conversation = await this.#opening?.catch(() => undefined)
    await conversation?.kill()
    if (reason === 'shutdown' && this.session.sdkSessionId === undefined) return this.#putBack()
    const resumable = reason !== 'user' && this.session.sdkSessionId !== undefined
    await this.#end('killed', resumable ? 'suspended' : 'ended', reason, message)
  }

  /** Gives it to another machine: what it does is stopped, Claude closes its transcript, and from then on the row is
   *  theirs. Nobody is told that it ended. */
  async handOver(to: HandOver): Promise<void> {
    if (this.isOver) throw notRunning(this.session)
    const wasCut = this.#conversation?.busy === true
    this.#stop.abort()
    this.#leaveTurn()
    this.#vigil.end()
    const conversation = await this.#opening?.catch(() => undefined)
    await conversation?.close()
    await this.#turn
    await this.#spending.metered
    await this.#output.add('notice', `Moved to ${to.machine}: ${to.workdir}`)
    await this.#output.settled()
    const unsaid = await unsaidIn(this.#parts, this.session)
    await this.#record.change(givenTo(this.session, to, { unsaid, wasCut }))
    this.#finish(this.session)
  }

  /** Its process ends in order; somebody goes on with it elsewhere. */
  async release(): Promise<void> {
    if (this.session.lifecycle !== 'awaiting-input') throw isAtWork(this.session)
    this.#stop.abort()
    await this.#conversation?.close()
    await this.#end('killed', 'suspended', 'released', goesOnElsewhere)
  }

  /** It never got to Claude, so there is nothing to resume: it begins again with the next start. */
  async #putBack(): Promise<void> {
    await this.#record.change(begunAgain(this.session))
  }

  /** Takes turns until no message waits. Never throws: what goes wrong ends the session and is said. */
  async #work(): Promise<void> {
    try {
      for (let { next } = this.#messages; next !== undefined && !this.isOver; { next } = this.#messages) {
        const turn = this.#takeTurn(next)
        // Whoever waits for its end only wants to know that it is over; what went wrong is dealt with here.
        this.#turn = turn.catch(() => {})
        await turn
      }
    } catch (thrown) {
      if (this.isOver) return
      const error = asRockpoolError(thrown)
      this.#parts.log.error({ coding: this.session.id, error: error.message }, 'A coding session failed.')
      await this.#conversation?.kill()
      await this.#end(
        'failed',
        'ended',
        this.session.turns === 0 ? 'start-failed' : 'turn-failed',
        error.message,
      )
    }
  }

  async #takeTurn(said: string): Promise<void> {
    if (!(await this.#enterRepo())) return
    this.#turnStop = new AbortController()
    try {
      const text =
        this.session.startedAt === undefined
          ? await firstMessage(this.#parts, this.#record, said, this.#stop.signal)
          : said
      const told = withAside(this.session, text)
      await this.#output.add('prompt', text)
      await this.#record.change({
        lifecycle: this.session.startedAt === undefined ? 'starting' : 'active',
        startedAt: this.session.startedAt ?? this.#parts.clock.now(),
        waiting: undefined,
      })
      const refusal = await this.#questions.holdForBudget(this.#turnStop.signal)
      if (this.isOver) return
      if (refusal !== undefined && !this.#turnStop.signal.aborted)
        return await this.#end('failed', 'ended', 'budget', refusal)
      this.#conversation ??= await (this.#opening ??= this.#open())
      if (this.isOver) return
      const uuid = await this.#messages.give()
      if (this.isOver) return
      if (this.#turnStop.signal.aborted) return await this.#stoppedBefore(uuid)
      await this.#converse(this.#conversation, { text: told.text, uuid, command: isCommand(text) }, told.left)
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
    const entered = this.#parts.repos.enter(request.workdir, id, this.#stop.signal)
    const mustWait = !this.#parts.repos.holds(id)
    if (mustWait && lifecycle !== 'queued') this.#record.later({ lifecycle: 'queued', waiting: undefined })
    return entered
  }

  /** Interrupted before Claude got the message: it was said, and is not said again. */
  async #stoppedBefore(uuid: string): Promise<void> {
    await this.#record.change(this.#messages.without([uuid]))
    await this.#waitForInput('', false)
  }

  async #open(): Promise<Conversation> {
    const runtime = await this.#parts.runtime()
    const conversation = await runtime.open({
      ...openingOf(this.session, this.#parts),
      askPermission: (asked, signal) => this.#questions.askPermission(asked, signal),
      beforeTool: (at, signal) => this.#spending.beforeTool(at, signal),
    })
    this.#parts.log.info({ coding: this.session.id, name: this.session.name }, 'A coding session started.')
    void conversation.ended.then((end) => this.#onProcessGone(end))
    return conversation
  }

  #onEvent(event: TurnEvent): void {
    if (this.isOver) return
    this.#vigil.sign()
    if (event.type === 'turn-start')
      this.#record.later({ status: 'running', lifecycle: 'active', model: event.model })
    if (event.type === 'turn-start' || event.type === 'session-id') {
      this.#record.later({ sdkSessionId: event.sdkSessionId })
    }
    if (event.type === 'tool-start') this.#vigil.toolBegan(event.toolUseId)
    if (event.type === 'tool-end') this.#vigil.toolEnded(event.toolUseId)
    if (event.type === 'usage') this.#spending.report(event)
    const said = outputOf(event)
    if (said) this.#say(said.kind, said.text)
  }

  async #afterTurn(result: TurnResult, turnId: string, aside: string | undefined): Promise<void> {
    await this.#output.settled()
    await this.#spending.settle(result, turnId)
    await this.#record.change({
      ...this.#messages.without(result.prompts),
      ...turnTaken(this.session, result, this.#spending.costUsd),
      aside,
    })
    if (result.end.kind === 'failed') {
      const { why, message } = result.end
      await this.#conversation?.close()
      const lifecycle = why === 'process-died' || why === 'stalled' ? 'suspended' : 'ended'
      return this.#end('failed', lifecycle, reasonOfFailure(why), message)
    }
    if (this.#messages.next !== undefined) return
    if (!this.session.request.multiTurn && result.end.kind === 'completed') {
      await this.#conversation?.close()
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

  /** Nobody wants it to cost more: it ends here, and can be resumed with another budget. */
  async #holdForBudget(signal: AbortSignal): Promise<string | undefined> {
    const refusal = await this.#questions.holdForBudget(signal)
    if (refusal !== undefined && !signal.aborted && !this.isOver) void this.#endFor(refusal)
    return refusal
  }

  async #endFor(refusal: string): Promise<void> {
    this.#stop.abort()
    this.#leaveTurn()
    await this.#conversation?.close()
    await this.#end('failed', 'ended', 'budget', refusal)
  }

  #onProcessGone(end: { why: string; message?: string }): void {
    if (this.isOver || this.#working) return
    const reason = reasonOfGoing(end.why)
    void this.#end('killed', 'suspended', reason, end.message ?? 'Its process ended. It can be resumed.')
  }

  async #end(
    status: CodingStatus,
    lifecycle: CodingLifecycle,
    reason: EndReason,
    message: string,
  ): Promise<void> {
    if (this.session.end) return
    this.#stop.abort()
    this.#vigil.end()
    await this.#output.settled()
    const end = { reason, message, at: this.#parts.clock.now() }
    await this.#record.change(ended({ status, lifecycle, end }))
    if (!this.#record.isLost) await this.#parts.notifications.onSessionComplete(this.session)
    this.#finish(this.session)
  }

  #leaveTurn(): void {
    this.#vigil.turnOver()
    this.#spending.turnOver()
    this.#parts.repos.leave(this.session.id)
  }

  #acts(): VigilActs {
    return {
      isBusy: () => this.#conversation?.busy !== false || this.session.lifecycle !== 'active',
      onSilence: () => void this.#waitForInput('', true),
      onStuck: (seconds) => void this.kill('timeout', `It did nothing for ${seconds} s. It can be resumed.`),
      onLongRun: () => void this.#parts.notifications.onLongRunning(this.session, this.#turnBeganAt),
      onIdle: () => void this.kill('idle-timeout', 'No message came for a while. It can be resumed.'),
    }
  }

  #say(kind: OutputKind, text: string): void {
    void this.#record.settle(this.#output.add(kind, text))
  }
}
