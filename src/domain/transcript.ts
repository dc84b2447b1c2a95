// Our record of a session: pi's session format, version 3, one JSON object a line.
// Fields and types that we do not know are kept as they are.

export interface TranscriptHeader {
  type: 'session'
  version: number
  id: string
  timestamp: string
  cwd: string
  /** The transcript that this one was forked from. */
  parentSession?: string
}

interface TextBlock {
  type: 'text'
  text: string
}
interface ImageBlock {
  type: 'image'
  data: string
  mimeType: string
}
interface ThinkingBlock {
  type: 'thinking'
  thinking: string
}
interface ToolCallBlock {
  type: 'toolCall'
  id: string
  name: string
  arguments: Record<string, unknown>
}

export interface TranscriptUsage {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  totalTokens: number
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number }
}

/** Who wrote a text that is neither a person's nor the agent's; such a text is quoted wherever a model reads it. */
export type UntrustedWriter = 'program' | 'hook'

interface UserMessage {
  role: 'user'
  writer?: UntrustedWriter
  /** Identify the accepted messages whose text this is (`markOf` in flow/questions.ts). */
  inputs?: string[]
  content: string | Array<TextBlock | ImageBlock>
  timestamp: number
}
export interface AssistantMessage {
  role: 'assistant'
  writer?: UntrustedWriter
  content: Array<TextBlock | ThinkingBlock | ToolCallBlock>
  api: string
  provider: string
  model: string
  usage: TranscriptUsage
  stopReason: 'stop' | 'length' | 'toolUse' | 'error' | 'aborted'
  errorMessage?: string
  timestamp: number
}
interface ToolResultMessage {
  role: 'toolResult'
  toolCallId: string
  toolName: string
  content: Array<TextBlock | ImageBlock>
  details?: unknown
  isError: boolean
  timestamp: number
}
interface OtherMessage {
  role: 'bashExecution' | 'custom'
  [field: string]: unknown
}
export type TranscriptMessage = UserMessage | AssistantMessage | ToolResultMessage | OtherMessage

/** What an entry says, without its place in the tree. */
export type EntryBody =
  | { type: 'message'; message: TranscriptMessage }
  | { type: 'model_change'; provider: string; modelId: string }
  | { type: 'thinking_level_change'; thinkingLevel: string }
  | {
      type: 'compaction'
      summary: string
      firstKeptEntryId: string
      tokensBefore: number | null
      details?: unknown
      fromHook?: boolean
    }
  | { type: 'branch_summary'; fromId: string; summary: string; details?: unknown; fromHook?: boolean }
  | { type: 'custom'; customType: string; data?: unknown }
  | { type: 'custom_message'; customType: string; content: unknown; display: boolean; details?: unknown }
  | { type: 'label'; targetId: string; label?: string }
  | { type: 'session_info'; name?: string }

export type TranscriptEntry = EntryBody & {
  /** Eight hex digits. */
  id: string
  parentId: string | null
  timestamp: string
}

export type ContextMessage =
  | TranscriptMessage
  | { role: 'compactionSummary'; summary: string; tokensBefore: number | null; timestamp: number }
  | { role: 'branchSummary'; summary: string; fromId: string; timestamp: number }

interface TranscriptContext {
  messages: ContextMessage[]
  thinkingLevel: string
  model: { provider: string; modelId: string } | null
}

/** The text blocks of a message's content, without images, thoughts and tool calls. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content.trim()
  if (!Array.isArray(content)) return ''
  const blocks = content as Array<{ type?: unknown; text?: unknown } | null>
  const texts = blocks.flatMap((block) =>
    block?.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
  return texts.join('\n').trim()
}

/** What the model sees of a transcript: the entries from the root to the leaf, with the last compaction applied. The rules
 *  are pi's, so that pi and OpenClaw read our files as we do. */
export function contextOf(path: readonly TranscriptEntry[]): TranscriptContext {
  return { messages: messagesOf(path), ...settingsOf(path) }
}

function settingsOf(path: readonly TranscriptEntry[]): Omit<TranscriptContext, 'messages'> {
  let thinkingLevel = 'off'
  let model: TranscriptContext['model'] = null
  for (const entry of path) {
    if (entry.type === 'thinking_level_change') thinkingLevel = entry.thinkingLevel
    else if (entry.type === 'model_change') model = { provider: entry.provider, modelId: entry.modelId }
    else if (entry.type === 'message' && entry.message.role === 'assistant') {
      model = { provider: entry.message.provider, modelId: entry.message.model }
    }
  }
  return { thinkingLevel, model }
}

function messagesOf(path: readonly TranscriptEntry[]): ContextMessage[] {
  const at = path.findLastIndex((entry) => entry.type === 'compaction')
  const compaction = path[at]
  if (compaction?.type !== 'compaction') return path.flatMap(messageOf)
  const { summary, tokensBefore, firstKeptEntryId } = compaction
  const timestamp = Date.parse(compaction.timestamp)
  const firstKept = path.findIndex((entry) => entry.id === firstKeptEntryId)
  const kept = firstKept >= 0 && firstKept < at ? path.slice(firstKept, at) : []
  return [
    { role: 'compactionSummary', summary, tokensBefore, timestamp },
    ...kept.flatMap(messageOf),
    ...path.slice(at + 1).flatMap(messageOf),
  ]
}

function messageOf(entry: TranscriptEntry): ContextMessage[] {
  const timestamp = Date.parse(entry.timestamp)
  switch (entry.type) {
    case 'message':
      return [entry.message]
    case 'custom_message': {
      const { customType, content, display, details } = entry
      return [{ role: 'custom', customType, content, display, details, timestamp }]
    }
    case 'branch_summary':
      if (!entry.summary) return []
      return [{ role: 'branchSummary', summary: entry.summary, fromId: entry.fromId, timestamp }]
    default:
      return []
  }
}
