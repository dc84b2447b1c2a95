// One coding session while it runs: its conversation with Claude, its turns, and what it waits for. Every change is on
// disk before anybody hears of it.
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../domain/agent.ts'
import type { CodingLifecycle, CodingSession, CodingStatus, EndReason } from '../domain/coding.ts'
import type { OutputKind, Waiting } from '../domain/coding.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { TurnEvent, TurnFailure, TurnResult } from '../domain/turn.ts'
import { chooseWhenFree } from './choose-when-free.ts'
import { LiveRecord } from './live-record.ts'
import { Meter } from './meter.ts'
import { isCommand, oneLine, outputOf } from './names.ts'
import { OutputLog } from './output-log.ts'
import type { WrittenBlock } from './output-log.ts'
import { openingOf } from './opening.ts'
import { withOriginMarker } from './origin.ts'
import type { CodingParts } from './parts.ts'
import { Questions } from './questions.ts'
import { Vigil } from './vigil.ts'
import type { VigilActs } from './vigil.ts'

export class CodingRun {
  /** Resolves when the session has ended or was suspended. */
  readonly over: Promise<CodingSession>
  #parts: CodingParts
  #record: LiveRecord
  #questions: Questions
  #conversation: Conversation | undefined
  #opening: Promise<Conversation> | undefined
  #inbox: string[] = []
  #working: Promise<void> | undefined
  #turn: Promise<void> | undefined
  #stop = new AbortController()
  #finish!: (session: CodingSession) => void
  #meter: Meter
  #vigil: Vigil
  #output: OutputLog
  /** Resolves when what was metered up to now is on disk: limits are sums over it. */
  #metering: Promise<void> = Promise.resolve()

  constructor(parts: CodingParts, session: CodingSession) {
    this.#parts = parts
    this.#record = new LiveRecord(parts, session)
    this.#questions = new Questions(parts, this.#record, {
      over: this.#stop.signal,
      metered: () => this.#metering,
      onAsked: () => this.#vigil.personAsked(),
      onAnswered: () => this.#vigil.sign(),
    })
    this.#meter = new Meter(parts, session)
    this.#vigil = new Vigil(parts.clock, session.request.timeoutSeconds, this.#acts())
    this.#output = new OutputLog(parts, session.id, (blocks) => this.#written(blocks))
    this.over = new Promise((resolve) => (this.#finish = resolve))
  }

  get session(): CodingSession {
    return this.#record.session
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted
  }

  /** Begins; the first turn runs in the background. */
  start(): void {
    this.send(this.session.request.prompt)
  }

  /** A message for Claude: joins the running turn, or begins the next one. */
  send(text: string): void {
    if (this.isOver) return
    this.#vigil.messageCame()
    if (this.#conversation?.busy && this.#conversation.steer({ text, uuid: randomUUID() })) {
      return this.#say('prompt', text)
    }
    this.#inbox.push(text)
    this.#working ??= this.#work().finally(() => (this.#working = undefined))
  }

  /** Stops what it does. Resolves when the turn is over, so that what is said next begins a turn of its own. */
  async interrupt(): Promise<void> {
    await this.#conversation?.interrupt()
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

  /** It never got to Claude, so there is nothing to resume: it begins again with the next start. */
  async #putBack(): Promise<void> {
    await this.#record.change({
      status: 'starting',
      lifecycle: 'queued',
      owner: undefined,
      startedAt: undefined,
      waiting: undefined,
    })
  }

  /** Takes turns until no message waits. Never throws: what goes wrong ends the session and is said. */
  async #work(): Promise<void> {
    try {
      for (let text = this.#inbox.shift(); text !== undefined && !this.isOver; text = this.#inbox.shift()) {
        const turn = this.#takeTurn(text)
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
    if (!(await this.#parts.repos.enter(this.session.request.workdir, this.session.id, this.#stop.signal)))
      return
    try {
      const text = this.session.startedAt === undefined ? await this.#firstMessage(said) : said
      await this.#output.add('prompt', text)
      await this.#record.change({
        lifecycle: this.session.startedAt === undefined ? 'starting' : 'active',
        startedAt: this.session.startedAt ?? this.#parts.clock.now(),
        waiting: undefined,
      })
      const refusal = await this.#questions.holdForBudget(this.#stop.signal)
      if (this.isOver) return
      if (refusal !== undefined) return await this.#end('failed', 'ended', 'budget', refusal)
      this.#conversation ??= await (this.#opening ??= this.#open())
      if (this.isOver) return
      this.#vigil.turnBegan(this.session.turns === 0)
      const prompt = { text, uuid: randomUUID(), command: isCommand(text) }
      const result = await this.#conversation.turn(prompt, (event) => this.#onEvent(event))
      if (!this.isOver) await this.#afterTurn(result, prompt.uuid)
    } finally {
      this.#leaveTurn()
    }
  }

  /** The marker says to whoever scans Claude's files that it is ours; a conversation that is gone on with has its own. */
  async #firstMessage(prompt: string): Promise<string> {
    const { request } = this.session
    if (request.chooseWhenFree) {
      const resume = await chooseWhenFree(this.#parts, this.session, this.#stop.signal)
      const chosen = { ...request, resume, chooseWhenFree: false }
      await this.#record.change({ request: chosen, resumedFrom: resume?.sdkSessionId })
    }
    return this.session.request.resume ? prompt : withOriginMarker(request.agentId, prompt)
  }

  async #open(): Promise<Conversation> {
    const runtime = await this.#parts.runtime()
    const conversation = await runtime.open({
      ...openingOf(this.session, this.#parts),
      askPermission: (asked, signal) => this.#questions.askPermission(asked, signal),
      beforeTool: (_tool, signal) => this.#holdForBudget(signal),
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
    if (event.type === 'usage') this.#metered(event)
    const said = outputOf(event)
    if (said) this.#say(said.kind, said.text)
  }

  async #afterTurn(result: TurnResult, turnId: string): Promise<void> {
    await this.#output.settled()
    await this.#meter.settle(result, turnId)
    const { sdkSessionId, contextTokens, contextWindow } = this.session
    await this.#record.change({
      turns: this.session.turns + 1,
      costUsd: this.#meter.costUsd,
      sdkSessionId: result.sdkSessionId ?? sdkSessionId,
      contextTokens: result.contextTokens ?? contextTokens,
      contextWindow: result.contextWindow ?? contextWindow,
      doing: undefined,
    })
    if (result.end.kind === 'failed') {
      const { why, message } = result.end
      await this.#conversation?.close()
      const lifecycle = why === 'process-died' || why === 'stalled' ? 'suspended' : 'ended'
      return this.#end('failed', lifecycle, reasonOf(why), message)
    }
    if (this.#inbox.length > 0) return
    if (!this.session.request.multiTurn && result.end.kind === 'completed') {
      await this.#conversation?.close()
      return this.#end('completed', 'ended', 'done', '')
    }
    await this.#waitForInput(oneLine(result.text, 200), result.end.kind === 'completed')
  }

  async #waitForInput(about: string, tell: boolean): Promise<void> {
    const waiting: Waiting = { for: 'input', since: this.#parts.clock.now(), about }
    await this.#record.change({ status: 'running', lifecycle: 'awaiting-input', waiting })
    this.#vigil.waitsForMessage(this.#parts.config.idleTimeoutMinutes * 60_000)
    if (tell) await this.#parts.notifications.onWaitingForInput(this.session)
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

  #metered(event: Extract<TurnEvent, { type: 'usage' }>): void {
    this.#metering = this.#record.settle(this.#meter.report(event))
    this.#record.later({ costUsd: this.#meter.costUsd })
  }

  #onProcessGone(end: { why: string; message?: string }): void {
    if (this.isOver || this.#working) return
    const reason: EndReason =
      end.why === 'evicted' ? 'idle-timeout' : end.why === 'closed' ? 'shutdown' : 'crash'
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
    await this.#record.change({
      status,
      lifecycle,
      end,
      waiting: undefined,
      doing: undefined,
      owner: undefined,
    })
    await this.#parts.notifications.onSessionComplete(this.session)
    this.#finish(this.session)
  }

  #leaveTurn(): void {
    this.#vigil.turnOver()
    this.#parts.repos.leave(this.session.request.workdir, this.session.id)
  }

  #acts(): VigilActs {
    return {
      isBusy: () => this.#conversation?.busy !== false || this.session.lifecycle !== 'active',
      onSilence: () => void this.#waitForInput('', true),
      onStuck: (seconds) => void this.kill('timeout', `It did nothing for ${seconds} s. It can be resumed.`),
      onLongRun: () => void this.#parts.notifications.onLongRunning(this.session),
      onIdle: () => void this.kill('idle-timeout', 'No message came for a while. It can be resumed.'),
    }
  }

  #say(kind: OutputKind, text: string): void {
    void this.#record.settle(this.#output.add(kind, text))
  }

  async #written(blocks: WrittenBlock[]): Promise<void> {
    const { id } = this.session
    const said = blocks.findLast((block) => block.kind !== 'prompt')
    const doing = said && !this.session.end ? { doing: oneLine(said.text, 160) } : {}
    await this.#record.change({ lastSeq: Math.max(this.session.lastSeq, blocks.at(-1)?.seq ?? 0), ...doing })
    for (const block of blocks) {
      this.#parts.events.emit({ type: 'coding-output', id, seq: block.seq, text: block.text })
      if (block.kind !== 'prompt') this.#parts.notifications.onOutput(this.session, block)
    }
  }
}

function reasonOf(why: TurnFailure): EndReason {
  if (why === 'process-died') return 'crash'
  return why === 'budget-reached' ? 'budget' : 'turn-failed'
}
