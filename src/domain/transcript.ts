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

export interface TextBlock {
  type: 'text'
  text: string
}
export interface ImageBlock {
  type: 'image'
  data: string
  mimeType: string
}
export interface ThinkingBlock {
  type: 'thinking'
  thinking: string
}
export interface ToolCallBlock {
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

export interface UserMessage {
  role: 'user'
  content: string | Array<TextBlock | ImageBlock>
  timestamp: number
}
export interface AssistantMessage {
  role: 'assistant'
  content: Array<TextBlock | ThinkingBlock | ToolCallBlock>
  api: string
  provider: string
  model: string
  usage: TranscriptUsage
  stopReason: 'stop' | 'length' | 'toolUse' | 'error' | 'aborted'
  errorMessage?: string
  timestamp: number
}
export interface ToolResultMessage {
  role: 'toolResult'
  toolCallId: string
  toolName: string
  content: Array<TextBlock | ImageBlock>
  details?: unknown
  isError: boolean
  timestamp: number
}
export interface OtherMessage {
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
