// Who answers. `Agent` is a name with settings; `AgentRuntime` is what takes turns for it: Claude through the Agent SDK, another
// coding agent as a program (for coding sessions), or the offline agent when there are no credentials.
import type { TurnEvent, TurnResult } from './turn.ts'

/** The model of the offline agent, which answers when there is no credential for Claude and writes no transcript. */
export const offlineModel = 'offline'

/** The programs whose sessions Rockpool knows. Claude Code also answers chats; the others only take coding sessions. */
export const agentKinds = ['claude', 'codex', 'gemini', 'opencode', 'pi'] as const
export type AgentKind = (typeof agentKinds)[number]
export type OtherAgent = Exclude<AgentKind, 'claude'>

export interface Agent {
  id: string
  name: string
  workspace: string
  model?: string
  /** The Claude settings files that a turn may load. None by default: a repository's hooks are untrusted code. */
  settingSources: Array<'user' | 'project' | 'local'>
  systemPrompt?: string
}

/** An agent of OpenClaw has this before its id: OpenClaw's `main` is `openclaw-main` here. */
export const openclawPrefix = 'openclaw-'

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
  /** The rules that `always` would add, as Claude writes them: `Bash(git status:*)`. Empty: `always` has no effect. */
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

/** Called before every tool call and, without a name, before the model is called with the tools' results; also for
 *  sub-agents. It is awaited, and the model is not called meanwhile: the budget waits here. A returned string refuses the
 *  tool and is the reason for the model, or it ends the turn. */
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

/** Options for opening a conversation with Claude; the rest is configuration. Functions, the model and the permission mode
 *  may change while the process runs: those of the last `open` apply. A change of any other option restarts the process,
 *  so those should not change from turn to turn. */
export interface ConversationOptions {
  /** The session key, or the coding session's id. Each key has at most one live process. */
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
  /** The open tools that Claude may use without asking. */
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
  /** Never ended to free a slot or for being idle; its opener closes it. For coding sessions. */
  pinned?: boolean
  /** Runs before Claude compacts its context (the memory flush). Compaction waits at most two minutes for it. */
  beforeCompaction?: (compaction: { trigger: 'auto' | 'manual'; sdkSessionId: string }) => Promise<void>
  /** Claude takes a turn by itself when a background task ends. With this handler such turns are reported here, after
   *  `turn` has resolved; without it, `turn` waits for background sub-agents and includes their output in the reply. */
  onUnprompted?: { event(event: TurnEvent): void; ended(result: TurnResult): void }
}

export interface Prompt {
  text: string
  images?: Array<{ data: string; mimeType: string }>
  /** Sent to Claude with the message, so that results can be matched to prompts. */
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
  /** `where` describes the process that has it open. */
  | { isOpen: true; where: string }

/** One live conversation with a process behind it. Turns are taken one at a time. */
export interface Conversation {
  readonly key: string
  readonly sdkSessionId: string | undefined
  readonly pid: number | undefined
  /** A turn runs, or Claude works by itself. */
  readonly busy: boolean
  /** Takes a turn. `onEvent` is called in order; the promise resolves when the turn has ended. It does not reject for a
   *  failed turn: that is a TurnEnd. */
  turn(prompt: Prompt, onEvent: (event: TurnEvent) => void): Promise<TurnResult>
  /** Adds a message to the running turn, which then also answers this message. False if no turn runs. */
  steer(prompt: Prompt): boolean
  /** Stops the running turn, which ends as `interrupted`; the conversation stays open. Does nothing when idle. */
  interrupt(): Promise<void>
  /** Another program that has this conversation open, or has written to it since our last turn. */
  otherWriter(): OtherWriter | undefined
  /** Ends the process and all its children; Claude gets a moment to store its state. */
  close(): Promise<void>
  /** Ends the process and all its children at once. Nothing is reported after this call. */
  kill(): Promise<void>
  readonly closed: boolean
  /** Resolves when the process has ended. */
  readonly ended: Promise<ConversationEnd>
}

export type Resumable =
  | { ok: true }
  | {
      ok: false
      /** `gone`: no such transcript. `damaged`: its entries do not lead from the last to the first. `in-use`: another
       *  process has it open. `empty`: the session has no answer yet. */
      why: 'gone' | 'empty' | 'damaged' | 'in-use'
      reason: string
    }

/** How Claude is paid for. With a subscription, costs are what the API would have charged. */
export type Billing = 'api' | 'subscription' | 'none'

export interface AgentRuntime {
  readonly kind: AgentKind | 'offline'
  readonly billing: Billing
  /** Opens a conversation, or returns the live one with this key. */
  open(options: ConversationOptions): Promise<Conversation>
  /** The live conversation with this key; it has priority over any file. */
  live(key: string): Conversation | undefined
  /** Can Claude's transcript be resumed: does it exist, and do its entries form one chain? */
  resumable(sdkSessionId: string): Promise<Resumable>
  /** The uuids of those prompts that are in Claude's transcript and need not be sent again on resume. */
  received(sdkSessionId: string, prompts: ReadonlyArray<Pick<Prompt, 'uuid' | 'text'>>): Promise<Set<string>>
  /** A notice for the person before a session in this mode starts: the actions that the agent takes without asking. */
  notice?(mode: PermissionMode): string
  /** Starts a process ahead of time for a conversation like this one, so that its first turn is nearly as fast as later
   *  ones. */
  prewarm?(options: ConversationOptions): Promise<void>
  close(): Promise<void>
}
