// One live conversation: a process of Claude's, what it says, and the turn that it belongs to. A turn is over when Claude
// has said how it ended, every prompt of it was dealt with, and nothing more follows by itself.
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import type {
  Conversation,
  ConversationEnd,
  ConversationOptions,
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
import { endTree } from './process.ts'
import { RunningTurn } from './running-turn.ts'
import { explain } from './turn-failures.ts'
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
  silence: { seconds: number; toolSeconds: number }
  /** Claude's id of this conversation became known, or another one. */
  onSession: (sdkSessionId: string) => void
  /** A turn began or ended. */
  onTurn: () => void
}

/** A longer wait for the end of a rate limit is for the person, not for a process. */
const maxRetryDelayMs = 60_000

export class ClaudeConversation implements Conversation {
  readonly key: string
  readonly ended: Promise<ConversationEnd>
  #parts: ConversationParts
  #turn: RunningTurn | undefined
  /** What Claude does by itself. */
  #unprompted: RunningTurn | undefined
  #state: 'running' | 'waiting' | 'idle' = 'idle'
  /** Older programs do not say where they stand; then a result is the end of a turn. */
  #saysState = false
  #saysPrompts = false
  #subagents = 0
  #watchdog: Watchdog
  #end: ConversationEnd | undefined
  /** After a kill nothing is reported, whatever still arrives. */
  #silenced = false
  /** All ids that Claude gave this conversation. */
  #ids = new Set<string>()

  constructor(parts: ConversationParts) {
    this.key = parts.options.key
    this.#parts = parts
    this.#watchdog = new Watchdog(parts.clock, () => this.#stalled())
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
    return this.#parts.process.identity.pid
  }

  get busy(): boolean {
    return this.#turn !== undefined || this.#unprompted !== undefined || this.#state !== 'idle'
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
    if (this.#turn) {
      const message = `A turn is already running in ${this.key}.`
      return Promise.reject(new RockpoolError('busy', message, { hint: 'Wait for it, or steer it.' }))
    }
    const turn = new RunningTurn(prompt, onEvent, this.#parts.clock)
    this.#turn = turn
    this.#parts.onTurn()
    if (this.closed) this.#finish(turn, this.#failure('process-died', 'The conversation was closed'))
    else this.#send(prompt)
    return turn.result
  }

  steer(prompt: Prompt): boolean {
    if (!this.#turn || this.closed) return false
    this.#turn.add(prompt)
    this.#send(prompt)
    return true
  }

  #send(prompt: Prompt): void {
    this.#parts.input.push(prompt)
    this.#watchdog.sign()
    this.#watch()
  }

  async interrupt(): Promise<void> {
    if (!this.busy || this.closed) return
    // What was said to steer the turn and still waits would begin another one; stop means stop.
    if (this.#turn) this.#turn.stopped = true
    await this.#interruptOnce()
  }

  async #interruptOnce(): Promise<void> {
    try {
      await withinMs(5_000, this.#parts.query.interrupt())
    } catch (error) {
      // The conversation ended meanwhile, which its end reports; or it does not react, which the watchdog will see.
      this.#parts.log.debug({ key: this.key, error: String(error) }, 'An interrupt was not answered.')
    }
  }

  async setModel(model: string | undefined): Promise<void> {
    await this.#parts.query.setModel(model)
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    await this.#parts.query.setPermissionMode(mode)
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
    if (event) this.#report(event)
    const release = this.#watchdog.hold()
    return () => {
      release()
      this.#watch()
    }
  }

  async close(why: 'closed' | 'evicted' = 'closed'): Promise<void> {
    if (!this.closed) {
      if (this.#turn) await this.interrupt()
      this.#end ??= { why }
      this.#parts.input.end()
      await Promise.race([this.#parts.process.exited, this.#pause(2_000)])
    }
    await this.#endProcess()
  }

  async kill(): Promise<void> {
    this.#silenced = true
    this.#end ??= { why: 'killed' }
    if (this.#turn) this.#finish(this.#turn, { kind: 'interrupted' }, { kind: 'interrupted' })
    this.#unprompted = undefined
    await this.#endProcess()
  }

  async #endProcess(): Promise<void> {
    await endTree(this.#parts.process.identity)
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
      // Also thrown after a result that already told of the failure; then the turn is long over.
      thrown = error instanceof Error ? error.message : String(error)
    }
    await endTree(this.#parts.process.identity)
    const end = (this.#end ??= { why: 'process-died', message: this.#parts.process.lastWords() || thrown })
    this.#watchdog.stop()
    if (this.#turn) this.#finish(this.#turn, this.#endOfUnfinished(end))
    return end
  }

  #endOfUnfinished(end: ConversationEnd): TurnEnd {
    return end.why === 'process-died' ? this.#failure('process-died', end.message) : { kind: 'interrupted' }
  }

  #take(item: StreamItem): void {
    if (item.is === 'state') {
      this.#state = item.state
      this.#saysState = true
    } else if (item.is === 'background') this.#subagents = item.subagents
    else if (item.is === 'prompt') this.#takePrompt(item)
    else {
      if (item.is === 'event' && item.event.type === 'session-id') this.#noteId(item.event.sdkSessionId)
      const turn = this.#turnOf(item)
      turn?.take(item, this.#parts.clock.now())
      if (item.is === 'event') this.#noteEvent(item.event)
    }
  }

  #takePrompt({ uuid, state }: Extract<StreamItem, { is: 'prompt' }>): void {
    this.#saysPrompts = true
    if (!this.#turn?.has(uuid)) return
    if (state === 'over') this.#turn.settle(uuid)
    if (state === 'started' && this.#turn.stopped) void this.#interruptOnce()
    if (state !== 'started' || this.#turn.started) return
    // Claude was at work by itself and took the prompt in: what it did so far is part of this turn now.
    this.#turn.begin(this.#unprompted)
    this.#unprompted = undefined
  }

  #turnOf(item: StreamItem): RunningTurn | undefined {
    if (this.#turn && (this.#turn.started || !this.#saysPrompts)) return this.#turn
    if (this.#unprompted) return this.#unprompted
    const isNews = item.is === 'event' && item.event.type === 'session-id'
    if (isNews) return this.#turn
    const listener = (event: TurnEvent): void => this.#parts.options.onUnprompted?.event(event)
    return (this.#unprompted = new RunningTurn(undefined, listener, this.#parts.clock))
  }

  #noteId(sdkSessionId: string): void {
    this.#ids.add(sdkSessionId)
    this.#parts.onSession(sdkSessionId)
  }

  #noteEvent(event: TurnEvent): void {
    if (event.type !== 'retry') return
    this.#watchdog.allow(event.delayMs)
    if (event.delayMs > maxRetryDelayMs && event.reason === 'rate_limit')
      this.#giveUp('rate-limited', event.delayMs)
  }

  #report(event: TurnEvent): void {
    const turn = this.#turn ?? this.#unprompted
    turn?.take({ is: 'event', event }, this.#parts.clock.now())
  }

  /** Ends the turns that are over. */
  #settle(): void {
    const isIdle = this.#saysState ? this.#state === 'idle' : true
    const turn = this.#turn
    const goesOnAlone = this.#subagents > 0 && this.#parts.options.onUnprompted !== undefined
    if (turn?.isOver(this.#saysPrompts) && (isIdle || goesOnAlone)) {
      turn.settleAll()
      this.#finish(turn, { kind: 'completed' })
    }
    const unprompted = this.#unprompted
    if (!unprompted?.isOver(true) || !isIdle) return
    this.#unprompted = undefined
    const result = this.#resultOf(unprompted, { kind: 'completed' })
    if (this.#parts.options.onUnprompted) this.#parts.options.onUnprompted.ended(result)
    else
      this.#parts.log.info(
        { key: this.key, text: result.text.length },
        'Claude took a turn by itself; nobody listens.',
      )
  }

  #finish(turn: RunningTurn, fallback: TurnEnd, verdict?: TurnEnd): void {
    this.#turn = undefined
    this.#watch()
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
    const turn = this.#turn
    const { seconds, toolSeconds } = this.#parts.silence
    if (!turn) return this.#watchdog.stop()
    this.#watchdog.start((turn.openTools > 0 || this.#subagents > 0 ? toolSeconds : seconds) * 1_000)
  }

  #stalled(): void {
    this.#parts.log.warn({ key: this.key, pid: this.pid }, 'Claude gave no sign of life; the turn is ended.')
    this.#giveUp('stalled', undefined)
  }

  /** Ends the turn with our own verdict: asks Claude to stop, and if it does not, ends the process. */
  #giveUp(why: 'stalled' | 'rate-limited', delayMs: number | undefined): void {
    const turn = this.#turn
    if (!turn) return
    const now = this.#parts.clock.now()
    const retryAt = delayMs === undefined ? undefined : now + delayMs
    turn.verdict ??= { ...this.#failure(why, '', retryAt), ...(retryAt ? { retryAt } : {}) }
    void this.interrupt()
    this.#parts.clock.after(10_000, () => {
      if (this.#turn === turn) void this.kill()
    })
  }

  #failure(
    why: 'stalled' | 'rate-limited' | 'process-died',
    details: string,
    retryAt?: number,
  ): Extract<TurnEnd, { kind: 'failed' }> {
    const context = { now: this.#parts.clock.now(), timeZone: this.#parts.timeZone, retryAt }
    return { kind: 'failed', why, message: explain(why, details, context) }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve))
  }
}
