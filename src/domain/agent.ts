// Who answers. `Agent` is a name with settings; `AgentRuntime` is what takes turns for it:
// Claude through the Agent SDK, or the offline agent when there are no credentials.
import type { TurnEvent, TurnResult } from './turn.ts'

export interface Agent {
  id: string
  name: string
  workspace: string
  model?: string
  /** The Claude settings files that a turn may load. None by default: a repository's hooks are untrusted code. */
  settingSources: Array<'user' | 'project' | 'local'>
  allowedTools: string[]
  systemPrompt?: string
}

export const permissionModes = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'] as const

export type PermissionMode = (typeof permissionModes)[number]

export interface PermissionRequest {
  requestId: string
  kind: 'tool' | 'question' | 'plan'
  toolName: string
  input: Record<string, unknown>
  /** The directory that the tool works in: a command of Claude's may have changed it since the conversation began. */
  cwd?: string
  title?: string
  description?: string
  /** Why Claude asks, in its own words. */
  reason?: string
  /** The tool call that waits for the answer. */
  toolUseId?: string
  /** The sub-agent that asks, if it is one. */
  subagentId?: string
  /** What `always` would allow from then on, as Claude writes rules: `Bash(git status:*)`. Empty: `always` has no effect. */
  rules?: string[]
}

/** `always` holds for this conversation only; no settings file is written. */
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

/** Called before every tool call and, without a name, before the model is called again with what the tools gave;
 *  sub-agents' included. It is awaited: no further call to the model happens while it holds. A string refuses the tool
 *  and tells the model why, or ends the turn. The budget waits here. */
export type BeforeTool = (
  tool: {
    name?: string
    toolUseId?: string
    subagentId?: string
    /** The sub-agent has ended and its parent would continue. */
    isDone?: boolean
  },
  signal: AbortSignal,
) => Promise<string | undefined>

/** Which of Claude's tools a conversation has. Every other tool is closed, also one that a later Claude Code brings. */
export interface ToolRights {
  /** Claude Code's own, by name. */
  open: readonly string[]
  /** May it use MCP servers from the user's or the project's settings? */
  settingsServers: boolean
}

/** How a conversation with Claude is opened. Only what differs between conversations; the rest is configuration.
 *  Functions, the model and the permission mode may change while it lives: the last `open` counts. A change of anything
 *  else ends the process and goes on in a new one, so nothing here should change from turn to turn. */
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
  /** What Claude may use without asking, of the tools that are open. */
  allowedTools: string[]
  toolRights: ToolRights
  maxBudgetUsd?: number
  thinkingLevel?: string
  tools: ToolServer[]
  askPermission: AskPermission
  title?: string
  /** A tag that names the owner in Claude's transcript; set once Claude has written one. */
  tag?: string
  beforeTool?: BeforeTool
  /** Leaves nothing on disk; cannot be resumed. */
  ephemeral?: boolean
  /** Never ended to make room or for idleness: who opened it closes it. For coding sessions. */
  pinned?: boolean
  /** Runs before Claude compacts its context; the memory flush. Compaction waits for it, at most two minutes. */
  beforeCompaction?: (compaction: { trigger: 'auto' | 'manual'; sdkSessionId: string }) => Promise<void>
  /** Claude takes a turn by itself when something in the background ends. Without this, `turn` waits for background
   *  sub-agents and their words join the reply; with it they come here, after `turn` has resolved. */
  onUnprompted?: { event(event: TurnEvent): void; ended(result: TurnResult): void }
}

export interface Prompt {
  text: string
  images?: Array<{ data: string; mimeType: string }>
  /** Goes with the message into Claude's stream, so that results can be matched. */
  uuid: string
  /** A command to Claude Code itself (`/compact`). Without it, text that looks like a command is only text. */
  command?: boolean
}

export type ConversationEnd =
  | { why: 'closed' | 'killed' | 'evicted' }
  /** The process ended by itself; `message` says how. */
  | { why: 'process-died'; message: string }

export type OtherWriter =
  | { isOpen: false }
  /** `where`: the process that has it open, in words. */
  | { isOpen: true; where: string }

/** One live conversation with a process behind it. Turns are taken one at a time. */
export interface Conversation {
  readonly key: string
  readonly sdkSessionId: string | undefined
  readonly pid: number | undefined
  /** A turn runs, or Claude works by itself. */
  readonly busy: boolean
  /** Takes a turn. `onEvent` is called in order; the promise resolves when the turn is really over. It never rejects
   *  for a failed turn: that is a TurnEnd. */
  turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult>
  /** Adds a message to the running turn, which is then over only when this message was dealt with too. False if none runs. */
  steer(prompt: Prompt): boolean
  /** Stops the running turn, which ends as `interrupted`; the conversation stays open. Does nothing when idle. */
  interrupt(): Promise<void>
  setModel(model: string | undefined): Promise<void>
  setPermissionMode(mode: PermissionMode): Promise<void>
  /** Somebody else who has this conversation open, or has written to it since our last turn. */
  otherWriter(): OtherWriter | undefined
  contextUsage(): Promise<{ totalTokens: number; maxTokens: number } | undefined>
  /** Ends the process and all its children, leaving Claude a moment to write down where it stands. */
  close(): Promise<void>
  /** Ends the process and all its children at once. Nothing is reported after this call. */
  kill(): Promise<void>
  readonly closed: boolean
  /** Resolves when the process is gone. */
  readonly ended: Promise<ConversationEnd>
}

export type Resumable =
  | { ok: true }
  | {
      ok: false
      /** `gone`: there is no such transcript. `damaged`: it has no way from its end to its beginning. `in-use`: another
       *  process has it open. `empty`: the session was started and never said anything. */
      why: 'gone' | 'empty' | 'damaged' | 'in-use'
      reason: string
    }

/** How Claude is paid for: costs under a subscription are what the API would have charged. */
export type Billing = 'api' | 'subscription' | 'none'

export interface AgentRuntime {
  readonly kind: 'claude' | 'offline'
  readonly billing: Billing
  /** Opens a conversation, or gives the live one with this key. */
  open(options: ConversationOptions): Promise<Conversation>
  /** The live one, if there is one: a live process wins over any file. */
  live(key: string): Conversation | undefined
  /** Can Claude's transcript be resumed: is it there, and can it be walked to its leaf? */
  resumable(sdkSessionId: string): Promise<Resumable>
  /** Which of these prompts, by uuid, are in Claude's transcript and need not be sent again on resume. */
  received(sdkSessionId: string, prompts: ReadonlyArray<Pick<Prompt, 'uuid' | 'text'>>): Promise<Set<string>>
  /** Starts a process ahead of time for conversations like this one; its first turn is then nearly as fast as a second. */
  prewarm?(options: ConversationOptions): Promise<void>
  close(): Promise<void>
}
