// One live conversation: a Claude process, its input and output, and its end.
import type { Query } from '@anthropic-ai/claude-agent-sdk'
import type {
  Conversation,
  ConversationEnd,
  ConversationOptions,
  OtherWriter,
  Prompt,
} from '../domain/agent.ts'
import type { UsageReport } from '../domain/usage-window.ts'
import { sleep, within } from '../domain/async.ts'
import { systemClock, type Clock } from '../domain/clock.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { TurnEnd, TurnEvent, TurnResult } from '../domain/turn.ts'
import type { StreamItem, StreamReader } from './claude-events.ts'
import { ConversationTurns } from './conversation-turns.ts'
import type { InputStream } from './input-stream.ts'
import type { AgentProcess } from './process.ts'
import type { TranscriptWatch } from './other-writers.ts'
import { RunningTurn } from './running-turn.ts'
import { explainFailure } from './turn-failures.ts'
import { TurnWatchdog, type SilenceLimits } from './watchdog.ts'

interface ConversationParts {
  options: ConversationOptions
  query: Query
  input: InputStream
  process: AgentProcess
  reader: StreamReader
  clock: Clock
  log: Log
  timeZone?: string
  silence: SilenceLimits
  /** Claude gave the conversation an id, for the first time or a new one. */
  onSession: (sdkSessionId: string) => void
  onUsage?: (report: UsageReport) => void
  /** A turn began or ended. */
  onTurn: () => void
  transcript: TranscriptWatch
}

/** If a rate limit ends later than this, the turn ends and the person decides. */
const maxRetryDelayMs = 60_000

export class ClaudeConversation implements Conversation {
  readonly key: string
  readonly ended: Promise<ConversationEnd>
  #parts: ConversationParts
  #turns: ConversationTurns
  #watchdog: TurnWatchdog
  #end: ConversationEnd | undefined
  /** After a kill nothing is reported, even if more output arrives. */
  #silenced = false
  /** All ids that Claude gave this conversation. */
  #ids = new Set<string>()

  constructor(parts: ConversationParts) {
    this.key = parts.options.key
    this.#parts = parts
    this.#turns = new ConversationTurns(parts.clock, {
      onUnprompted: (event) => this.#parts.options.onUnprompted?.event(event),
      interruptAgain: () => void this.#interruptOnce(),
    })
    this.#watchdog = new TurnWatchdog(parts.clock, parts.silence, {
      silence: () => this.#endSilentTurn(),
      endlessAnswer: () => this.#endEndlessAnswer(),
    })
    const { resume } = parts.options
    if (resume && !resume.fork) this.#ids.add(resume.sdkSessionId)
    this.ended = this.#listen()
  }

  get options(): ConversationOptions {
    return this.#parts.options
  }

  /** The id to resume, also before Claude has sent anything. */
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

  /** Takes over the functions, model and mode of a later `open`. */
  async rebind(options: ConversationOptions): Promise<void> {
    const before = this.#parts.options
    this.#parts.options = options
    const { model, permissionMode } = options
    if (model !== before.model) await this.#parts.query.setModel(model)
    if (permissionMode !== before.permissionMode) await this.#parts.query.setPermissionMode(permissionMode)
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
    this.#parts.transcript.addPrompt(prompt.uuid)
    this.#parts.input.push(prompt)
    this.#watchdog.promptSent()
    this.#watch()
  }

  async interrupt(): Promise<void> {
    if (!this.busy || this.closed) return
    // Messages that steer the turn and still wait would start another turn; an interrupt stops those, too.
    if (this.#turns.asked) this.#turns.asked.stopped = true
    await this.#interruptOnce()
  }

  async #interruptOnce(): Promise<void> {
    try {
      await within(systemClock, 5_000, this.#parts.query.interrupt(), () => {
        throw new Error('no answer in time')
      })
    } catch (error) {
      // If the conversation has ended, its end is reported elsewhere. If Claude hangs, the watchdog ends the turn.
      this.#parts.log.debug(
        { event: 'interrupt-unanswered', key: this.key, error: String(error) },
        'Claude did not answer an interrupt; the watchdog ends the turn if Claude hangs.',
      )
    }
  }

  otherWriter(): OtherWriter | undefined {
    return this.sdkSessionId === undefined ? undefined : this.#parts.transcript.find(this.sdkSessionId)
  }

  /** While a question waits for a person, silence does not mean that Claude is stuck. Returns the function that ends this state. */
  hold(event?: TurnEvent): () => void {
    if (event) this.#turns.report(event)
    const release = this.#watchdog.hold()
    return () => {
      release()
      this.#watch()
    }
  }

  async close(why: 'closed' | 'evicted' = 'closed'): Promise<void> {
    if (!this.closed) {
      if (this.#turns.asked) await this.interrupt()
      this.#end ??= { why }
      this.#parts.input.end()
      await Promise.race([this.#parts.process.exited, sleep(this.#parts.clock, 2_000)])
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
        this.#watchdog.messageReceived()
        for (const item of this.#parts.reader.read(message)) this.#take(item)
        this.#settle()
        this.#watch()
      }
    } catch (error) {
      // Also thrown after a result that already reported the failure; the turn has ended by then.
      thrown = errorText(error)
    }
    await this.#parts.process.end()
    const end = (this.#end ??= { why: 'process-died', message: this.#parts.process.stderrTail() || thrown })
    this.#watchdog.stop()
    const unfinished: TurnEnd =
      end.why === 'process-died' ? this.#failure('process-died', end.message) : { kind: 'interrupted' }
    if (this.#turns.asked) this.#finish(this.#turns.asked, unfinished)
    return end
  }

  #take(item: StreamItem): void {
    if (item.is === 'windows') {
      for (const report of item.reports) this.#parts.onUsage?.({ ...report, at: this.#parts.clock.now() })
      return
    }
    const event = item.is === 'event' ? item.event : undefined
    if (event?.type === 'session-id') {
      this.#ids.add(event.sdkSessionId)
      this.#parts.onSession(event.sdkSessionId)
    }
    this.#turns.take(item)
    if (!event) return
    this.#watchdog.eventReceived(event)
    const isRateLimit = event.type === 'retry' && event.reason === 'rate_limit'
    if (isRateLimit && event.delayMs > maxRetryDelayMs) this.#giveUp('rate-limited', '', event.delayMs)
  }

  /** Ends the turns that are over. */
  #settle(): void {
    const { onUnprompted } = this.#parts.options
    const asked = this.#turns.askedThatIsOver({ mayContinueUnprompted: onUnprompted !== undefined })
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
    const { clock, timeZone } = this.#parts
    const { sdkSessionId, model } = this.#parts.reader
    return turn.finish({ fallback, verdict, sdkSessionId, model, now: clock.now(), timeZone })
  }

  #watch(): void {
    const { asked, usesTools } = this.#turns
    this.#watchdog.update({ isTurnRunning: asked !== undefined, usesTools })
  }

  #endSilentTurn(): void {
    this.#parts.log.warn(
      { event: 'turn-silent', key: this.key, pid: this.pid },
      'Claude sent nothing for too long; ending the turn.',
    )
    this.#giveUp('stalled', '')
  }

  #endEndlessAnswer(): void {
    const { answerMinutes } = this.#parts.silence
    this.#parts.log.warn(
      { event: 'answer-too-long', key: this.key, pid: this.pid, answerMinutes },
      'Claude spent too long on one answer; ending the turn.',
    )
    const limit = `${answerMinutes} minutes (claude.maxAnswerMinutes)`
    this.#giveUp('stalled', `Claude wrote at one answer for more than ${limit}`)
  }

  /** Ends the turn with our own verdict: interrupts Claude, and ends the process if that has no effect. */
  #giveUp(why: 'stalled' | 'rate-limited', details: string, delayMs?: number): void {
    const turn = this.#turns.asked
    if (!turn) return
    const retryAt = delayMs === undefined ? undefined : this.#parts.clock.now() + delayMs
    turn.verdict ??= { ...this.#failure(why, details, retryAt), retryAt }
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
    return { kind: 'failed', why, ...explainFailure(why, details, context) }
  }
}
