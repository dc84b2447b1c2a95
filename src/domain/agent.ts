// Who answers. `Agent` is a name with settings; `AgentRuntime` is what takes turns for it:
// Claude through the Agent SDK, or the offline agent when there are no credentials.
import type { TurnEvent, TurnResult } from './turn.ts'

export interface Agent {
  id: string
  name: string
  workspace: string
  model?: string
  /** The Claude settings files that a turn may load. None by default: a repository's hooks are somebody else's code. */
  settingSources: Array<'user' | 'project' | 'local'>
  allowedTools: string[]
  systemPrompt?: string
}

export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypassPermissions'

export interface PermissionRequest {
  requestId: string
  kind: 'tool' | 'question' | 'plan'
  toolName: string
  input: Record<string, unknown>
  title?: string
  description?: string
  /** The sub-agent that asks, if it is one. */
  subagentId?: string
}

export type PermissionAnswer =
  | { behavior: 'allow'; updatedInput?: Record<string, unknown>; always?: boolean }
  | { behavior: 'deny'; message: string; interrupt?: boolean }

/** Answers a permission request; `signal` fires when the turn no longer waits for it. */
export type AskPermission = (request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>

/** Tools of ours that a turn may call, offered to Claude as one MCP server. */
export interface ToolServer {
  name: string
  tools: AgentTool[]
}

export interface AgentTool {
  name: string
  description: string
  /** JSON Schema of the input (an object). */
  inputSchema: Record<string, unknown>
  readOnly?: boolean
  call(
    input: Record<string, unknown>,
  ): Promise<{ text: string; isError?: boolean; structured?: Record<string, unknown> }>
}

/** How a conversation with Claude is opened. Only what differs between conversations; the rest is configuration. */
export interface ConversationOptions {
  /** Our own name for it: the session key, or the coding session's id. One live process for each. */
  key: string
  agent: Agent
  cwd: string
  model?: string
  /** Claude's id to resume, and whether to fork from it (at a message, if given). */
  resume?: { sdkSessionId: string; fork?: boolean; atMessage?: string }
  /** The id to give a new conversation. */
  newSdkSessionId?: string
  systemPromptAppend?: string
  permissionMode: PermissionMode
  allowedTools: string[]
  maxBudgetUsd?: number
  thinkingLevel?: string
  tools: ToolServer[]
  askPermission: AskPermission
  title?: string
  /** Called before every tool call, sub-agents' included, and awaited: no further call to the model happens while it
   *  holds. A string refuses the tool and tells the model why. The budget waits here. */
  beforeTool?: (
    tool: { name: string; subagentId?: string },
    signal: AbortSignal,
  ) => Promise<string | undefined>
  /** Runs before Claude compacts its context; the memory flush. */
  beforeCompaction?: () => Promise<void>
}

export interface Prompt {
  text: string
  images?: Array<{ data: string; mimeType: string }>
  /** Goes with the message into Claude's stream, so that results can be matched. */
  uuid: string
}

/** One live conversation with a process behind it. Turns are taken one at a time. */
export interface Conversation {
  readonly key: string
  readonly sdkSessionId: string | undefined
  readonly pid: number | undefined
  /** Takes a turn. `onEvent` is called in order; the promise resolves when the turn is really over. It never rejects
   *  for a failed turn: that is a TurnEnd. */
  turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult>
  /** Adds a message to the running turn. False if none runs. */
  steer(prompt: Prompt): boolean
  interrupt(): Promise<void>
  setModel(model: string | undefined): Promise<void>
  setPermissionMode(mode: PermissionMode): Promise<void>
  contextUsage(): Promise<{ totalTokens: number; maxTokens: number } | undefined>
  /** Ends the process and all its children. */
  close(): Promise<void>
  readonly closed: boolean
}

export interface AgentRuntime {
  readonly kind: 'claude' | 'offline'
  /** Opens a conversation, or gives the live one with this key. */
  open(options: ConversationOptions): Promise<Conversation>
  /** The live one, if there is one: a live process wins over any file. */
  live(key: string): Conversation | undefined
  /** Can Claude's transcript be resumed: is it there, and can it be walked to its leaf? */
  resumable(sdkSessionId: string): Promise<{ ok: true } | { ok: false; reason: string }>
  close(): Promise<void>
}
