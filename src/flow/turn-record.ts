// Writes a turn into our transcript while it runs: what Claude says and thinks, its tool calls with their results, and the
// tokens of each model call.
import { costOfParts } from '../discovery/price-table.ts'
import type { Clock } from '../domain/clock.ts'
import type { AssistantMessage, EntryBody, TranscriptUsage } from '../domain/transcript.ts'
import { noUsage, type TurnEvent, type TurnResult, type Usage } from '../domain/turn.ts'
import { defaultThinkingLevel, thinkingChange } from '../sessions/transcript-changes.ts'

type Append = (bodies: EntryBody[]) => Promise<unknown>

const api = 'anthropic-messages'
/** Our transcript keeps the start of longer tool results; Claude's own transcript has all of them. */
const maxToolOutput = 16_384

const unknownModel = 'unknown'

/** The session's settings that the record depends on. */
export interface RecordedSession {
  /** The model of the previous turn; absent in the first one. */
  lastModel?: string
  /** The model that was chosen for this session. */
  modelOverride?: string
  /** The session's level, and the level that was requested for this turn alone. */
  thinkingLevel?: string
  turnThinking?: string
  /** The entry with the user's message: a compaction in this turn keeps it and what follows. */
  firstEntryId: () => string
}

export class TurnRecord {
  #append: Append
  #clock: Clock
  #provider: string
  #model = unknownModel
  #content: AssistantMessage['content'] = []
  #usage: Usage | undefined
  /** The cost of this turn's recorded messages. */
  #recordedUsd = 0
  #tools = new Map<string, string>()
  #writing: Promise<unknown> = Promise.resolve()
  #held: EntryBody[] = []
  #failure: unknown

  #session: RecordedSession

  /** `append` is called with pieces in order, one call at a time. */
  constructor(options: { append: Append; clock: Clock; provider: string; session: RecordedSession }) {
    this.#append = options.append
    this.#clock = options.clock
    this.#provider = options.provider
    this.#session = options.session
  }

  see(event: TurnEvent): void {
    if (event.type === 'turn-start' && event.model !== undefined) this.#sawStart(event.model)
    else if (event.type === 'text') this.#content.push({ type: 'text', text: event.text })
    else if (event.type === 'thinking') this.#content.push({ type: 'thinking', thinking: event.text })
    else if (event.type === 'tool-start') this.#sawToolCall(event)
    else if (event.type === 'tool-end') this.#sawToolResult(event)
    else if (event.type === 'usage' && !event.subagent) this.#sawUsage(event)
    else if (event.type === 'compaction' && event.phase === 'end') this.#sawCompaction(event)
  }

  /** Writes the rest and how the turn ended; resolves when everything is on disk. */
  async end(result: TurnResult): Promise<void> {
    if (this.#content.length > 0 || result.end.kind !== 'completed') {
      this.#hold(this.#assistant(stopReasonOf(result), result))
    }
    // The level of one turn is reset afterwards.
    if (this.#hasOwnThinking) this.#hold(thinkingChange(this.#session.thinkingLevel))
    this.#write()
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Claude sends the start event again after a compaction; only the first one records settings. */
  #sawStart(model: string): void {
    const { lastModel, modelOverride, thinkingLevel, turnThinking } = this.#session
    const isFirst = this.#model === unknownModel
    this.#model = model
    if (!isFirst) return
    // Settings that were chosen before the first turn are recorded now, because there was no transcript yet.
    const isFirstTurn = lastModel === undefined
    if (isFirstTurn ? modelOverride !== undefined : lastModel !== model)
      this.#hold({ type: 'model_change', provider: this.#provider, modelId: model })
    if (this.#hasOwnThinking) this.#hold(thinkingChange(turnThinking))
    else if (isFirstTurn && thinkingLevel !== undefined) this.#hold(thinkingChange(thinkingLevel))
  }

  get #hasOwnThinking(): boolean {
    const { turnThinking, thinkingLevel = defaultThinkingLevel } = this.#session
    return turnThinking !== undefined && turnThinking !== thinkingLevel
  }

  #sawToolCall(event: Extract<TurnEvent, { type: 'tool-start' }>): void {
    this.#tools.set(event.toolUseId, event.name)
    this.#content.push({ type: 'toolCall', id: event.toolUseId, name: event.name, arguments: event.input })
  }

  #sawToolResult(event: Extract<TurnEvent, { type: 'tool-end' }>): void {
    this.#closeMessage('toolUse')
    this.#hold({
      type: 'message',
      message: {
        role: 'toolResult',
        toolCallId: event.toolUseId,
        toolName: this.#tools.get(event.toolUseId) ?? 'unknown',
        content: [{ type: 'text', text: event.output.slice(0, maxToolOutput).toWellFormed() }],
        isError: event.isError,
        timestamp: this.#clock.now(),
      },
    })
    this.#write()
  }

  #sawUsage(event: Extract<TurnEvent, { type: 'usage' }>): void {
    this.#model = event.model
    this.#usage = event.usage
  }

  #sawCompaction(event: Extract<TurnEvent, { type: 'compaction' }>): void {
    const { trigger, tokensBefore = null, tokensAfter, summary = 'Claude gave no summary.' } = event
    this.#closeMessage('stop')
    this.#hold({
      type: 'compaction',
      summary,
      firstKeptEntryId: this.#session.firstEntryId(),
      tokensBefore,
      details: { trigger, tokensAfter },
    })
  }

  #closeMessage(stopReason: AssistantMessage['stopReason']): void {
    if (this.#content.length > 0) this.#hold(this.#assistant(stopReason))
  }

  #assistant(stopReason: AssistantMessage['stopReason'], result?: TurnResult): EntryBody {
    const failed = result?.end.kind === 'failed' ? result.end.message : undefined
    const message: AssistantMessage = {
      role: 'assistant',
      content: this.#content,
      api,
      provider: this.#provider,
      model: this.#model,
      usage: this.#usageWithCost(result),
      stopReason,
      errorMessage: failed,
      timestamp: this.#clock.now(),
    }
    this.#content = []
    this.#usage = undefined
    return { type: 'message', message }
  }

  /** The tokens are those of this call. The last message of a turn also carries the cost of calls that are not in the
   *  transcript (sub-agents), so that the sum over the turn is what Claude reports. */
  #usageWithCost(result: TurnResult | undefined): TranscriptUsage {
    const { cacheWrite1h, ...tokens } = this.#usage ?? noUsage
    const cost = costOfParts(this.#model, { ...tokens, cacheWrite1h })
    const ofCall = sumOf(cost)
    const total = Math.max(ofCall, (result?.costUsd ?? 0) - this.#recordedUsd)
    this.#recordedUsd += total
    return { ...tokens, totalTokens: sumOf(tokens), cost: { ...cost, total } }
  }

  #hold(body: EntryBody): void {
    this.#held.push(body)
  }

  #write(): void {
    const bodies = this.#held.splice(0)
    if (bodies.length === 0) return
    this.#writing = this.#writing
      .then(() => this.#append(bodies))
      .catch((error: unknown) => (this.#failure ??= error))
  }
}

function stopReasonOf(result: TurnResult): AssistantMessage['stopReason'] {
  if (result.end.kind === 'completed') return 'stop'
  return result.end.kind === 'interrupted' ? 'aborted' : 'error'
}

function sumOf(parts: Record<'input' | 'output' | 'cacheRead' | 'cacheWrite', number>): number {
  return parts.input + parts.output + parts.cacheRead + parts.cacheWrite
}
