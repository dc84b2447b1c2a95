// A turn while it runs: which prompts it has to process, what Claude has done so far, and what it adds up to at the end: text,
// tokens, cost, compactions.
import type { Prompt } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import { addUsage, noUsage } from '../domain/turn.ts'
import type { TurnEnd, TurnEvent, TurnResult, Usage } from '../domain/turn.ts'
import type { ClaudeResult, StreamItem } from './claude-events.ts'
import { endOfTurn } from './turn-failures.ts'

interface FinishContext {
  /** How the turn ended if Claude did not report it. */
  fallback: TurnEnd
  /** How the turn ended, if we ended it. Overrides what Claude reports. */
  verdict?: TurnEnd
  sdkSessionId?: string
  model?: string
  durationMs: number
  now: number
  timeZone?: string
}

export class RunningTurn {
  readonly result: Promise<TurnResult>
  readonly resolve: (result: TurnResult) => void
  /** Set when we end the turn. Overrides what Claude reports. */
  verdict: TurnEnd | undefined
  /** Claude has started to process the first prompt. */
  started = false
  /** An interrupt was requested. */
  stopped = false
  #prompts = new Set<string>()
  #unsettled = new Set<string>()
  #queued = 0
  #tally = new TurnTally()
  #announced = false
  #startedAt: number
  #clock: Clock
  #onEvent: (event: TurnEvent) => void

  constructor(prompt: Prompt | undefined, onEvent: (event: TurnEvent) => void, clock: Clock) {
    const { promise, resolve } = Promise.withResolvers<TurnResult>()
    this.result = promise
    this.resolve = resolve
    this.#onEvent = onEvent
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    if (prompt) this.add(prompt)
  }

  add(prompt: Prompt): void {
    this.#prompts.add(prompt.uuid)
    this.#unsettled.add(prompt.uuid)
  }

  has(uuid: string): boolean {
    return this.#prompts.has(uuid)
  }

  settle(uuid: string): void {
    this.#unsettled.delete(uuid)
  }

  /** Claude reports that no prompt waits; older versions do not report which prompts they processed. */
  settleAll(): void {
    this.#unsettled.clear()
  }

  /** `before`: the unprompted turn that Claude continues with this prompt. */
  start(before: RunningTurn | undefined): void {
    this.started = true
    if (before) this.#tally = before.#tally
  }

  get openTools(): number {
    return this.#tally.openTools
  }

  take(item: StreamItem, now: number): void {
    this.#tally.add(item, now)
    if (item.is === 'result') {
      this.#queued = item.result.queued
      for (const uuid of item.result.prompts) this.settle(uuid)
    }
    if (item.is !== 'event') return
    // Claude sends another start after a compaction; for us it is still the same turn.
    if (item.event.type === 'turn-start' && this.#announced) return
    this.#announced ||= item.event.type === 'turn-start'
    this.#onEvent(item.event)
  }

  /** Claude has sent a result, and every prompt was processed. */
  isOver(reportsPrompts: boolean): boolean {
    if (!this.#tally.hasResult) return false
    return reportsPrompts ? this.#unsettled.size === 0 : this.#queued === 0
  }

  finish(about: Omit<FinishContext, 'durationMs'>): TurnResult {
    const durationMs = this.#clock.monotonic() - this.#startedAt
    const result = this.#tally.finish({ ...about, verdict: about.verdict ?? this.verdict, durationMs })
    const processed = [...this.#prompts].filter((uuid) => !this.#unsettled.has(uuid))
    return { ...result, prompts: [...new Set([...processed, ...result.prompts])] }
  }
}

/** Adds up the items of the stream. */
export class TurnTally {
  #texts: string[] = []
  /** Streamed text that is not yet a complete block. */
  #unfinished = ''
  #results: ClaudeResult[] = []
  #openTools = new Set<string>()
  #compactions = 0
  #contextTokens: number | undefined
  /** When the rate limit ends that Claude waits for. */
  #retryAt: number | undefined
  /** The window of the subscription whose limit is reached. */
  #window: string | undefined
  /** Calls of the model in this turn, for a turn that ends without a result. */
  #counted: Usage = noUsage

  add(item: StreamItem, now: number): void {
    if (item.is === 'event') this.#addEvent(item.event, now)
    if (item.is === 'result') this.#results.push(item.result)
    if (item.is === 'limit') {
      this.#retryAt = item.endsAt
      this.#window = item.window
    }
  }

  get hasResult(): boolean {
    return this.#results.length > 0
  }

  /** The number of tools that were started and have not ended. */
  get openTools(): number {
    return this.#openTools.size
  }

  finish({ fallback, verdict, now, timeZone, ...about }: FinishContext): TurnResult {
    if (this.#unfinished) this.#texts.push(this.#unfinished)
    this.#unfinished = ''
    const last = this.#results.at(-1)
    const answers = this.#results.flatMap((result) => (result.isError || !result.text ? [] : [result.text]))
    return {
      ...about,
      end:
        verdict ??
        (last ? endOfTurn(last, { retryAt: this.#retryAt, window: this.#window, now, timeZone }) : fallback),
      text: (answers.length > 0 ? answers : this.#texts).join('\n\n'),
      said: this.#texts,
      prompts: [...new Set(this.#results.flatMap((result) => result.prompts))],
      usage: last ? this.#results.map((result) => result.usage).reduce(addUsage) : this.#counted,
      costUsd: this.#results.reduce((sum, result) => sum + result.costUsd, 0),
      contextTokens: this.#contextTokens,
      contextWindow: last?.contextWindow,
      compactions: this.#compactions,
    }
  }

  #addEvent(event: TurnEvent, now: number): void {
    if (event.type === 'text-delta') this.#unfinished += event.text
    else if (event.type === 'tool-start') this.#openTools.add(event.toolUseId)
    else if (event.type === 'tool-end') this.#openTools.delete(event.toolUseId)
    else if (event.type === 'retry') {
      this.#retryAt = event.reason === 'rate_limit' ? now + event.delayMs : undefined
    } else if (event.type === 'text') {
      this.#texts.push(event.text)
      this.#unfinished = ''
    } else if (event.type === 'usage') {
      this.#counted = addUsage(this.#counted, event.usage)
      const { input, cacheRead, cacheWrite } = event.usage
      if (!event.subagent) this.#contextTokens = input + cacheRead + cacheWrite
    } else if (event.type === 'compaction' && event.phase === 'end') {
      this.#compactions++
      this.#contextTokens = event.tokensAfter ?? this.#contextTokens
    }
  }
}
