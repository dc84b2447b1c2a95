// One live conversation: a process of Claude's, what goes in and comes out of it, and its end.
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import type {
  Conversation,
  ConversationEnd,
  ConversationOptions,
  OtherWriter,
  PermissionMode,
  Prompt,
} from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { TurnEnd, TurnEvent, TurnResult } from '../domain/turn.ts'
import type { StreamItem, StreamReader } from './claude-events.ts'
import type { InputStream } from './input-stream.ts'
import type { ClaudeProcess } from './process.ts'
import type { TranscriptWatch } from './other-writers.ts'
import { RunningTurn } from './running-turn.ts'
import { explain } from './turn-failures.ts'
import { TurnsUnderWay } from './turns-under-way.ts'
import { Watchdog } from './watchdog.ts'
import { withinMs } from './within.ts'

export interface ConversationParts {
  options: ConversationOptions
  query: Query
  input: InputStream
  process: ClaudeProcess
  reader: StreamReader
  clock: Clock
  log: Log
  timeZone?: string
  silence: { seconds: number; toolSeconds: number; answerMinutes: number }
  /** Claude's id of this conversation became known, or another one. */
  onSession: (sdkSessionId: string) => void
  /** A turn began or ended. */
  onTurn: () => void
  transcript: TranscriptWatch
}

/** A longer wait for the end of a rate limit is for the person, not for a process. */
const maxRetryDelayMs = 60_000

export class ClaudeConversation implements Conversation {
  readonly key: string
  readonly ended: Promise<ConversationEnd>
  #parts: ConversationParts
  #turns: TurnsUnderWay
  #watchdog: Watchdog
  /** Told of every finished block: text that never ends, or a connection that only says that it lives, is no progress. */
  #answering: Watchdog
  #end: ConversationEnd | undefined
  /** After a kill nothing is reported, whatever still arrives. */
  #silenced = false
  /** All ids that Claude gave this conversation. */
  #ids = new Set<string>()

  constructor(parts: ConversationParts) {
    this.key = parts.options.key
    this.#parts = parts
    this.#turns = new TurnsUnderWay(parts.clock, {
      unprompted: (event) => this.#parts.options.onUnprompted?.event(event),
      stopAgain: () => void this.#interruptOnce(),
    })
    this.#watchdog = new Watchdog(parts.clock, () => this.#stalled())
    this.#answering = new Watchdog(parts.clock, () => this.#answersTooLong())
    const { resume } = parts.options
    if (resume && !resume.fork) this.#ids.add(resume.sdkSessionId)
    this.ended = this.#listen()
  }

  get options(): ConversationOptions {
    return this.#parts.options
  }

  /** The one to resume: also before Claude has said anything. */
  get sdkSessionId(): string | undefined {
    return this.#parts.reader.sdkSessionId ?? [...this.#ids][0]
  }

  get ids(): ReadonlySet<string> {
    return this.#ids
  }

  get pid(): number {
    return this.#parts.process.scope.root.pid
  }

  get busy(): boolean {
    return this.#turns.busy
  }

  get closed(): boolean {
    return this.#end !== undefined
  }

  /** The functions, model and mode of a later `open`. */
  async rebind(options: ConversationOptions): Promise<void> {
    const before = this.#parts.options
    this.#parts.options = options
    if (options.model !== before.model) await this.setModel(options.model)
    if (options.permissionMode !== before.permissionMode) await this.setPermissionMode(options.permissionMode)
  }

  turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult> {
    if (this.#turns.asked) {
      const message = `A turn is already running in ${this.key}.`
      return Promise.reject(new RockpoolError('busy', message, { hint: 'Wait for it, or steer it.' }))
    }
    const turn = new RunningTurn(prompt, onEvent, this.#parts.clock)
    this.#turns.asked = turn
    this.#parts.onTurn()
    if (this.closed) this.#finish(turn, this.#failure('process-died', 'The conversation was closed'))
    else this.#send(prompt)
    return turn.result
  }

  steer(prompt: Prompt): boolean {
    if (!this.#turns.asked || this.closed) return false
    this.#turns.asked.add(prompt)
    this.#send(prompt)
    return true
  }

  #send(prompt: Prompt): void {
    this.#parts.transcript.gave(prompt.uuid)
    this.#parts.input.push(prompt)
    for (const watchdog of [this.#watchdog, this.#answering]) watchdog.sign()
    this.#watch()
  }

  async interrupt(): Promise<void> {
    if (!this.busy || this.closed) return
    // What was said to steer the turn and still waits would begin another one; stop means stop.
    if (this.#turns.asked) this.#turns.asked.stopped = true
    await this.#interruptOnce()
  }

  async #interruptOnce(): Promise<void> {
    try {
      await withinMs(5_000, this.#parts.query.interrupt())
    } catch (error) {
      // The conversation ended meanwhile, which its end reports; or it does not react, which the watchdog will see.
      this.#parts.log.debug(
        { event: 'interrupt-unanswered', key: this.key, error: String(error) },
        'Claude did not answer an interrupt.',
      )
    }
  }

  async setModel(model: string | undefined): Promise<void> {
    await this.#parts.query.setModel(model)
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    await this.#parts.query.setPermissionMode(mode)
  }

  otherWriter(): OtherWriter | undefined {
    return this.sdkSessionId === undefined ? undefined : this.#parts.transcript.look(this.sdkSessionId)
  }

  async contextUsage(): Promise<{ totalTokens: number; maxTokens: number } | undefined> {
    if (this.closed) return undefined
    try {
      const usage = await withinMs(5_000, this.#parts.query.getContextUsage({ detail: 'summary' }))
      return { totalTokens: usage.totalTokens, maxTokens: usage.maxTokens }
    } catch {
      // Only an estimate was asked for; an older program does not know the question.
      return undefined
    }
  }

  /** Somebody is being asked something: silence is theirs then, not Claude's. Returns what to call when it is over. */
  hold(event?: TurnEvent): () => void {
    if (event) this.#turns.report(event)
    const releases = [this.#watchdog, this.#answering].map((watchdog) => watchdog.hold())
    return () => {
      for (const release of releases) release()
      this.#watch()
    }
  }

  async close(why: 'closed' | 'evicted' = 'closed'): Promise<void> {
    if (!this.closed) {
      if (this.#turns.asked) await this.interrupt()
      this.#end ??= { why }
      this.#parts.input.end()
      await Promise.race([this.#parts.process.exited, this.#pause(2_000)])
    }
    await this.#endProcess()
  }

  async kill(): Promise<void> {
    this.#silenced = true
    this.#end ??= { why: 'killed' }
    const { asked } = this.#turns
    if (asked) this.#finish(asked, { kind: 'interrupted' }, { kind: 'interrupted' })
    this.#turns.forgetUnprompted()
    await this.#endProcess()
  }

  async #endProcess(): Promise<void> {
    await this.#parts.process.end()
    this.#parts.query.close()
    await this.ended
  }

  async #listen(): Promise<ConversationEnd> {
    let thrown = ''
    try {
      for await (const message of this.#parts.query) {
        if (this.#silenced) continue
        this.#watchdog.sign()
        for (const item of this.#parts.reader.read(message)) this.#take(item)
        this.#settle()
        this.#watch()
      }
    } catch (error) {
      // Also thrown after a result that already reported the failure; then the turn has ended.
      thrown = error instanceof Error ? error.message : String(error)
    }
    await this.#parts.process.end()
    const end = (this.#end ??= { why: 'process-died', message: this.#parts.process.lastWords() || thrown })
    for (const watchdog of [this.#watchdog, this.#answering]) watchdog.stop()
    if (this.#turns.asked) this.#finish(this.#turns.asked, this.#endOfUnfinished(end))
    return end
  }

  #endOfUnfinished(end: ConversationEnd): TurnEnd {
    return end.why === 'process-died' ? this.#failure('process-died', end.message) : { kind: 'interrupted' }
  }

  #take(item: StreamItem): void {
    const event = item.is === 'event' ? item.event : undefined
    if (event?.type === 'session-id') this.#noteId(event.sdkSessionId)
    this.#turns.take(item)
    if (event) this.#noteEvent(event)
  }

  #noteId(sdkSessionId: string): void {
    this.#ids.add(sdkSessionId)
    this.#parts.onSession(sdkSessionId)
  }

  #noteEvent(event: TurnEvent): void {
    if (event.type !== 'text-delta') this.#answering.sign()
    if (event.type !== 'retry') return
    this.#watchdog.allow(event.delayMs)
    if (event.delayMs > maxRetryDelayMs && event.reason === 'rate_limit')
      this.#giveUp('rate-limited', event.delayMs)
  }

  /** Ends the turns that are over. */
  #settle(): void {
    const { onUnprompted } = this.#parts.options
    const asked = this.#turns.askedThatIsOver({ mayGoOnAlone: onUnprompted !== undefined })
    if (asked) this.#finish(asked, { kind: 'completed' })
    const unprompted = this.#turns.takeUnpromptedThatIsOver()
    if (!unprompted) return
    const result = this.#resultOf(unprompted, { kind: 'completed' })
    if (onUnprompted) onUnprompted.ended(result)
    else
      this.#parts.log.info(
        { event: 'unprompted-turn', key: this.key, text: result.text.length },
        'Claude took an unprompted turn without a listener; its output is not shown.',
      )
  }

  #finish(turn: RunningTurn, fallback: TurnEnd, verdict?: TurnEnd): void {
    this.#turns.asked = undefined
    this.#watch()
    if (this.sdkSessionId !== undefined) this.#parts.transcript.turnEnded(this.sdkSessionId)
    this.#parts.onTurn()
    turn.resolve(this.#resultOf(turn, fallback, verdict))
  }

  #resultOf(turn: RunningTurn, fallback: TurnEnd, verdict?: TurnEnd): TurnResult {
    const { clock, reader, timeZone } = this.#parts
    return turn.finish({
      fallback,
      verdict,
      sdkSessionId: reader.sdkSessionId,
      model: reader.model,
      now: clock.now(),
      timeZone,
    })
  }

  #watch(): void {
    const { seconds, toolSeconds, answerMinutes } = this.#parts.silence
    const { asked, usesTools } = this.#turns
    if (asked && !usesTools) this.#answering.start(answerMinutes * 60_000)
    else this.#answering.stop()
    if (!asked) return this.#watchdog.stop()
    this.#watchdog.start((usesTools ? toolSeconds : seconds) * 1_000)
  }

  #answersTooLong(): void {
    const { answerMinutes } = this.#parts.silence
    this.#parts.log.warn(
      { event: 'answer-too-long', key: this.key, pid: this.pid, answerMinutes },
      'Claude wrote at one answer for too long; the turn is ended.',
    )
    const limit = `${answerMinutes} minutes (claude.maxAnswerMinutes)`
    this.#giveUp('stalled', undefined, `Claude wrote at one answer for more than ${limit}`)
  }

  #stalled(): void {
    this.#parts.log.warn(
      { event: 'turn-silent', key: this.key, pid: this.pid },
      'Claude sent nothing for too long; ending the turn.',
    )
    this.#giveUp('stalled', undefined)
  }

  /** Ends the turn with our own verdict: asks Claude to stop, and if it does not, ends the process. */
  #giveUp(why: 'stalled' | 'rate-limited', delayMs: number | undefined, details = ''): void {
    const turn = this.#turns.asked
    if (!turn) return
    const now = this.#parts.clock.now()
    const retryAt = delayMs === undefined ? undefined : now + delayMs
    turn.verdict ??= { ...this.#failure(why, details, retryAt), ...(retryAt ? { retryAt } : {}) }
    void this.interrupt()
    this.#parts.clock.after(10_000, () => {
      if (this.#turns.asked === turn) void this.kill()
    })
  }

  #failure(
    why: 'stalled' | 'rate-limited' | 'process-died',
    details: string,
    retryAt?: number,
  ): Extract<TurnEnd, { kind: 'failed' }> {
    const context = { now: this.#parts.clock.now(), timeZone: this.#parts.timeZone, retryAt }
    return { kind: 'failed', why, ...explain(why, details, context) }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve))
  }
}
