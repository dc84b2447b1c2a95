// What a turn adds up to: words, tokens, cost, compactions. Fed with the items of the stream, asked at the end.
import type { TurnEnd, TurnEvent, TurnResult, Usage } from '../domain/turn.ts'
import type { ClaudeResult, StreamItem } from './claude-events.ts'
import { endOfTurn } from './turn-failures.ts'
import { addUsage, noUsage } from './usage.ts'

export interface FinishContext {
  /** How it ended if Claude did not say. */
  fallback: TurnEnd
  /** How it ended whatever Claude says: we stopped it ourselves. */
  verdict?: TurnEnd
  sdkSessionId?: string
  model?: string
  durationMs: number
  now: number
  timeZone?: string
}

export class TurnTally {
  #said: string[] = []
  /** Text that was streamed and is not yet a whole block. */
  #unfinished = ''
  #results: ClaudeResult[] = []
  #openTools = new Set<string>()
  #compactions = 0
  #contextTokens: number | undefined
  /** When the rate limit ends that Claude waits for. */
  #retryAt: number | undefined
  /** Calls of the model in this turn, for a turn that ends without a result. */
  #counted: Usage = noUsage

  add(item: StreamItem, now: number): void {
    if (item.is === 'event') this.#addEvent(item.event, now)
    if (item.is === 'result') this.#results.push(item.result)
    if (item.is === 'limit') this.#retryAt = item.endsAt
  }

  get hasResult(): boolean {
    return this.#results.length > 0
  }

  /** Tools that were started and have not ended. */
  get openTools(): number {
    return this.#openTools.size
  }

  finish(about: FinishContext): TurnResult {
    if (this.#unfinished) this.#said.push(this.#unfinished)
    this.#unfinished = ''
    const last = this.#results.at(-1)
    const failure = { retryAt: this.#retryAt, now: about.now, timeZone: about.timeZone }
    const answers = this.#results.flatMap((result) => (result.isError || !result.text ? [] : [result.text]))
    return {
      end: about.verdict ?? (last ? endOfTurn(last, failure) : about.fallback),
      text: (answers.length > 0 ? answers : this.#said).join('\n\n'),
      said: this.#said,
      prompts: [...new Set(this.#results.flatMap((result) => result.prompts))],
      sdkSessionId: about.sdkSessionId,
      model: about.model,
      usage: last ? this.#results.map((result) => result.usage).reduce(addUsage) : this.#counted,
      costUsd: this.#results.reduce((sum, result) => sum + result.costUsd, 0),
      contextTokens: this.#contextTokens,
      contextWindow: last?.contextWindow,
      compactions: this.#compactions,
      durationMs: about.durationMs,
    }
  }

  #addEvent(event: TurnEvent, now: number): void {
    if (event.type === 'text-delta') this.#unfinished += event.text
    else if (event.type === 'tool-start') this.#openTools.add(event.toolUseId)
    else if (event.type === 'tool-end') this.#openTools.delete(event.toolUseId)
    else if (event.type === 'retry') {
      this.#retryAt = event.reason === 'rate_limit' ? now + event.delayMs : undefined
    } else if (event.type === 'text') {
      this.#said.push(event.text)
      this.#unfinished = ''
    } else if (event.type === 'usage') {
      this.#counted = addUsage(this.#counted, event.usage)
      if (!event.subagent) this.#contextTokens = occupancy(event.usage)
    } else if (event.type === 'compaction' && event.phase === 'end') {
      this.#compactions++
      this.#contextTokens = event.tokensAfter ?? this.#contextTokens
    }
  }
}

/** What the context holds at a call of the model. */
function occupancy(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite
}
