// Translates messages of the SDK into our events. Pure: messages in, items out; it only remembers what was already counted.
// The format changes with every release of Claude Code, so fields are read leniently and unknown types are ignored.
import type {
  SDKAssistantMessage,
  SDKMessage,
  SDKPartialAssistantMessage,
  SDKResultMessage,
  SDKUserMessage,
} from '@anthropic-ai/claude-agent-sdk'
import { addUsage, noUsage, type TurnEvent, type Usage } from '../domain/turn.ts'
import { windowName, type UsageReport } from '../domain/usage-window.ts'
import { withSummaries } from './compaction-summary.ts'

/** One part of a message: an event of the turn, its result, or the state of the process. */
export type StreamItem =
  | { is: 'event'; event: TurnEvent }
  | { is: 'result'; result: ClaudeResult }
  /** `idle`: nothing more follows by itself. */
  | { is: 'state'; state: 'running' | 'waiting' | 'idle' }
  | { is: 'prompt'; uuid: string; state: 'queued' | 'started' | 'over' }
  /** A limit of the subscription was reached; it ends at `endsAt`. */
  | { is: 'limit'; endsAt: number; window?: string }
  /** How much of each window of the subscription is used. */
  | { is: 'windows'; reports: Array<Omit<UsageReport, 'at'>> }
  /** The number of sub-agents in the background. When one ends, Claude takes a turn by itself. */
  | { is: 'background'; subagents: number }

export interface ClaudeResult {
  isError: boolean
  /** How the turn ended, in the SDK's terms: `completed`, `api_error`, `aborted_streaming`, … */
  reason: string
  text: string
  errors: string[]
  /** The kind of API failure, as on the assistant message that reported it: `rate_limit`, `authentication_failed`, … */
  apiError?: string
  apiStatus?: number
  /** Since the previous result, sub-agents and compactions included. */
  usage: Usage
  costUsd: number
  contextWindow?: number
  prompts: string[]
  /** The number of prompts that still wait; more results follow. */
  queued: number
}

export interface StreamReader {
  read(message: SDKMessage): StreamItem[]
  readonly sdkSessionId: string | undefined
  readonly model: string | undefined
}

interface Memory {
  sdkSessionId?: string
  model?: string
  /** Calls to the model that were already counted. */
  counted: Set<string>
  /** Calls whose final usage is not known yet. */
  uncounted: Map<string, { model: string; usage: Usage }>
  apiError?: string
  /** The total at the previous result. */
  totalCostUsd: number
}

/** `totalCostUsd`: the cost of the conversation before this process continued it. */
export function makeStreamReader(totalCostUsd = 0): StreamReader {
  const memory: Memory = { counted: new Set(), uncounted: new Map(), totalCostUsd }
  return {
    read: withSummaries((message) => [...noteSession(memory, message), ...readMessage(memory, message)]),
    get sdkSessionId() {
      return memory.sdkSessionId
    },
    get model() {
      return memory.model
    },
  }
}

function noteSession(memory: Memory, message: SDKMessage): StreamItem[] {
  // A `conversation_reset` names another id; the messages after it have the new session id.
  const id = 'session_id' in message ? message.session_id : undefined
  if (!id || id === memory.sdkSessionId) return []
  memory.sdkSessionId = id
  return event({ type: 'session-id', sdkSessionId: id })
}

function readMessage(memory: Memory, message: SDKMessage): StreamItem[] {
  // Sent, but missing in the SDK's union.
  if (isLifecycle(message)) return readLifecycle(message)
  if (message.type === 'assistant') return readAssistant(memory, message)
  if (message.type === 'user') return readUser(message)
  if (message.type === 'stream_event') return readPiece(memory, message)
  if (message.type === 'result') return readResult(memory, message)
  if (message.type === 'rate_limit_event') return readRateLimit(message.rate_limit_info)
  return message.type === 'system' ? readSystem(memory, message) : []
}

interface Lifecycle {
  type: 'command_lifecycle'
  command_uuid: string
  state: string
}

function isLifecycle(message: object): message is Lifecycle {
  return 'type' in message && message.type === 'command_lifecycle' && 'command_uuid' in message
}

function readLifecycle({ command_uuid: uuid, state }: Lifecycle): StreamItem[] {
  if (state === 'queued' || state === 'started') return [{ is: 'prompt', uuid, state }]
  return [{ is: 'prompt', uuid, state: 'over' }]
}

function readAssistant(memory: Memory, message: SDKAssistantMessage): StreamItem[] {
  const { id, model, content } = message.message
  if (message.error) {
    memory.apiError = message.error
    return []
  }
  const usage = readUsage(message.message.usage)
  const subagentCall = message.parent_tool_use_id
  if (subagentCall) {
    const words = content.flatMap((block) => (block.type === 'text' ? block.text : []))
    const texts = words.flatMap((text) => event({ type: 'subagent', toolUseId: subagentCall, text }))
    return [...texts, ...count(memory, id, model, withEstimatedOutput(usage, content), true)]
  }
  // The line has the usage from the beginning of the answer; the end of its stream reports the final one.
  const settled = settleOthers(memory, id)
  if (!memory.counted.has(id)) memory.uncounted.set(id, { model, usage })
  return [...settled, ...content.flatMap((block) => readBlock(block))]
}

function readBlock(block: SDKAssistantMessage['message']['content'][number]): StreamItem[] {
  if (block.type === 'text') return event({ type: 'text', text: block.text })
  if (block.type === 'thinking') return event({ type: 'thinking', text: block.thinking })
  if (block.type !== 'tool_use') return []
  const input = typeof block.input === 'object' && block.input ? { ...block.input } : {}
  return event({ type: 'tool-start', toolUseId: block.id, name: block.name, input })
}

function readUser(message: SDKUserMessage): StreamItem[] {
  const { content } = message.message
  if (typeof content === 'string' || message.parent_tool_use_id) return []
  return content.flatMap((block) => {
    if (block.type !== 'tool_result') return []
    const { tool_use_id: toolUseId, is_error: isError = false } = block
    return event({ type: 'tool-end', toolUseId, isError, output: textOfToolResult(block.content) })
  })
}

const maxToolOutput = 30_000

function textOfToolResult(content: unknown): string {
  const text = Array.isArray(content)
    ? content
        .map((part: { type?: string; text?: string }) => part.text ?? `[${part.type ?? 'data'}]`)
        .join('\n')
    : typeof content === 'string'
      ? content
      : ''
  return text.length > maxToolOutput ? `${text.slice(0, maxToolOutput)}…` : text
}

function readPiece(memory: Memory, message: SDKPartialAssistantMessage): StreamItem[] {
  if (message.parent_tool_use_id) return []
  const piece = message.event
  if (piece.type === 'content_block_delta' && piece.delta.type === 'text_delta')
    return event({ type: 'text-delta', text: piece.delta.text })
  if (piece.type !== 'message_delta') return []
  const id = 'api_message_id' in message ? String(message.api_message_id) : ''
  const started = memory.uncounted.get(id)
  if (!started) return []
  return count(memory, id, started.model, { ...started.usage, output: piece.usage.output_tokens }, false)
}

function readResult(memory: Memory, message: SDKResultMessage): StreamItem[] {
  const settled = settleOthers(memory, undefined)
  const spent = spentSince(memory, message)
  const { apiError } = memory
  memory.apiError = undefined
  const result: ClaudeResult = {
    isError: message.is_error,
    reason: message.terminal_reason ?? (message.subtype === 'success' ? 'completed' : message.subtype),
    text: message.subtype === 'success' ? message.result : '',
    errors: message.subtype === 'success' ? [] : message.errors,
    apiError,
    apiStatus: (message.subtype === 'success' && message.api_error_status) || undefined,
    ...spent,
    contextWindow: memory.model ? message.modelUsage[memory.model]?.contextWindow : undefined,
    prompts: message.user_message_uuids ?? (message.user_message_uuid ? [message.user_message_uuid] : []),
    queued: message.queued_turn_count ?? 0,
  }
  return [...settled, { is: 'result', result }]
}

/** Claude's totals accumulate over turns, resumes and forks, and are reset by /clear; only the increase counts. */
function spentSince(memory: Memory, message: SDKResultMessage): { usage: Usage; costUsd: number } {
  const before = message.total_cost_usd < memory.totalCostUsd ? 0 : memory.totalCostUsd
  memory.totalCostUsd = message.total_cost_usd
  const since = (message as { model_usage_since_last_result?: SDKResultMessage['modelUsage'] })
    .model_usage_since_last_result
  if (!since) {
    // Claude Code before 2.1.3xx: the main loop's tokens, and the difference of the totals.
    return { usage: readUsage(message.usage), costUsd: message.total_cost_usd - before }
  }
  const perModel = Object.values(since)
  const usage = perModel.reduce<Usage>(
    (sum, part) =>
      addUsage(sum, {
        input: part.inputTokens,
        output: part.outputTokens,
        cacheRead: part.cacheReadInputTokens,
        cacheWrite: part.cacheCreationInputTokens,
      }),
    noUsage,
  )
  return { usage, costUsd: perModel.reduce((sum, part) => sum + part.costUSD, 0) }
}

/** A window as Claude reports it; `unifiedWindows` is missing in the SDK's types. */
interface ReportedWindow {
  utilization?: number
  resetsAt?: number
  status?: string
}

type RateLimitInfo = ReportedWindow & {
  rateLimitType?: string
  unifiedWindows?: Record<string, ReportedWindow>
}

function readRateLimit(info: RateLimitInfo): StreamItem[] {
  const { status, utilization, resetsAt, rateLimitType: window } = info
  const reports = windowsIn(info)
  const items: StreamItem[] = reports.length > 0 ? [{ is: 'windows', reports }] : []
  if (status === 'rejected' && resetsAt) return [...items, { is: 'limit', endsAt: resetsAt * 1_000, window }]
  if (status !== 'allowed_warning' || utilization === undefined) return items
  const name = window === undefined ? '' : ` (${windowName(window)})`
  const text = `${Math.round(utilization * 100)} % of Claude's usage limit${name} is used.`
  return [...items, ...event({ type: 'notice', text })]
}

/** A rejected window counts as used up, even if Claude reports a smaller share. */
function windowsIn({ rateLimitType, unifiedWindows = {}, ...representative }: RateLimitInfo) {
  const windows = rateLimitType === undefined ? {} : { [rateLimitType]: representative }
  return Object.entries({ ...windows, ...unifiedWindows }).flatMap(
    ([id, { utilization, resetsAt, status }]) => {
      const isRejected = status === 'rejected'
      const used = isRejected ? Math.max(1, utilization ?? 1) : utilization
      return used === undefined || !resetsAt ? [] : [{ id, used, resetsAt: resetsAt * 1_000, isRejected }]
    },
  )
}

function readSystem(memory: Memory, message: Extract<SDKMessage, { type: 'system' }>): StreamItem[] {
  switch (message.subtype) {
    case 'init':
      memory.model = message.model
      return event({ type: 'turn-start', sdkSessionId: message.session_id, model: message.model })
    case 'session_state_changed':
      return [{ is: 'state', state: message.state === 'requires_action' ? 'waiting' : message.state }]
    case 'background_tasks_changed':
      return [
        {
          is: 'background',
          subagents: message.tasks.filter(({ task_type }) => task_type === 'local_agent').length,
        },
      ]
    case 'api_retry': {
      const { attempt, retry_delay_ms: delayMs, error: reason } = message
      return event({ type: 'retry', attempt, delayMs, reason })
    }
    case 'compact_boundary': {
      const { trigger, pre_tokens: tokensBefore, post_tokens: tokensAfter } = message.compact_metadata
      return event({ type: 'compaction', phase: 'end', trigger, tokensBefore, tokensAfter })
    }
    case 'task_progress': {
      const { tool_use_id: toolUseId, summary, description } = message
      return toolUseId ? event({ type: 'subagent', toolUseId, text: summary ?? description }) : []
    }
    default:
      return readNotice(message)
  }
}

function readNotice(message: Extract<SDKMessage, { type: 'system' }>): StreamItem[] {
  const notice = (text: string): StreamItem[] => event({ type: 'notice', text })
  switch (message.subtype) {
    case 'status':
      if (message.status === 'compacting')
        return event({ type: 'compaction', phase: 'start', trigger: 'auto' })
      return message.compact_result === 'failed'
        ? notice(`Compacting failed: ${message.compact_error ?? 'no reason given'}.`)
        : []
    case 'permission_denied':
      return notice(`${message.tool_name} was not allowed: ${message.message}`)
    case 'local_command_output':
      return event({ type: 'text', text: message.content })
    case 'informational':
      return message.level === 'info' ? [] : notice(message.content)
    case 'model_refusal_fallback':
    case 'model_refusal_no_fallback':
      return notice(message.content)
    case 'session_writes_lost':
      return notice(`Claude could not save its transcript (${message.error_code}): free some disk space.`)
    default:
      return []
  }
}

/** Counts each call to the model once, however many lines report it. */
function count(memory: Memory, id: string, model: string, usage: Usage, subagent: boolean): StreamItem[] {
  memory.uncounted.delete(id)
  if (memory.counted.has(id)) return []
  memory.counted.add(id)
  return event({ type: 'usage', messageId: id, model, usage, subagent })
}

/** Calls that are over but whose end was not streamed: counted with the usage in their lines. */
function settleOthers(memory: Memory, current: string | undefined): StreamItem[] {
  const over = [...memory.uncounted].filter(([id]) => id !== current)
  return over.flatMap(([id, { model, usage }]) => count(memory, id, model, usage, false))
}

/** Answers of sub-agents are not streamed to us: their output tokens are estimated from the length of the text. */
function withEstimatedOutput(usage: Usage, content: unknown): Usage {
  return { ...usage, output: Math.max(usage.output, Math.ceil(JSON.stringify(content).length / 4)) }
}

function readUsage(usage: {
  input_tokens?: number | null
  output_tokens?: number | null
  cache_read_input_tokens?: number | null
  cache_creation_input_tokens?: number | null
  cache_creation?: { ephemeral_1h_input_tokens?: number | null } | null
}): Usage {
  return {
    input: usage.input_tokens ?? 0,
    output: usage.output_tokens ?? 0,
    cacheRead: usage.cache_read_input_tokens ?? 0,
    cacheWrite: usage.cache_creation_input_tokens ?? 0,
    cacheWrite1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? undefined,
  }
}

function event(event: TurnEvent): StreamItem[] {
  return [{ is: 'event', event }]
}
