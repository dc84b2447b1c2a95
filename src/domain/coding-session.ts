// A coding session: a background Claude Code session in a repository. `CodingSession` is its row in the store.
import type { PermissionMode } from './agent.ts'

/** The five values that other programs know. Finer states are in `lifecycle`. */
export type CodingStatus = 'starting' | 'running' | 'completed' | 'failed' | 'killed'

export type CodingLifecycle =
  /** Waits for its repository or for a free place; nothing runs yet. */
  | 'queued'
  | 'starting'
  /** Takes a turn. */
  | 'active'
  /** The turn is over; it waits for the next message. */
  | 'awaiting-input'
  | 'awaiting-approval'
  | 'awaiting-answer'
  | 'awaiting-plan'
  /** The budget is used up; the session continues when the budget is raised. */
  | 'awaiting-budget'
  /** No process; it can be resumed. */
  | 'suspended'
  | 'ended'

export type EndReason =
  | 'done'
  | 'user'
  | 'idle-timeout'
  | 'timeout'
  | 'shutdown'
  /** The conversation is continued elsewhere. */
  | 'released'
  | 'crash'
  | 'budget'
  | 'start-failed'
  | 'turn-failed'

/** What the session waits for, and since when. */
export interface Waiting {
  for: 'input' | 'approval' | 'answer' | 'plan' | 'budget'
  since: number
  /** One line: the question, the command, the plan's first line. */
  about: string
  approvalId?: string
}

/** What the launch asked for. Only `workdir` changes later, when the session moves to another machine. */
export interface CodingRequest {
  prompt: string
  workdir: string
  agentId: string
  name?: string
  label?: string
  model?: string
  budgetUsd: number
  systemPrompt?: string
  allowedTools: string[]
  permissionMode: PermissionMode
  multiTurn: boolean
  /** OpenClaw's thinking level: off, low, high, … */
  thinking?: string
  /** The session waits for its repository, and chooses the conversation to continue when it starts. */
  chooseWhenFree?: boolean
  /** Claude's id of the conversation to resume. */
  resume?: { sdkSessionId: string; fork: boolean; atMessage?: string }
  /** `channel|target` or `channel|account|target`; `unknown` and `gateway` deliver nowhere. */
  originChannel: string
  originThreadId?: string
  /** The chat session of the agent that launched it. That agent takes a turn when this session waits or ends. */
  originSessionKey?: string
  /** The agent that launched the session for another agent. It sees the session too, and gets the notifications. */
  launchedBy?: string
  /** Launched by a program whose token is bound to an agent: notifications to agents have that program as author. */
  byProgram?: boolean
  /** The row among the agent's sessions that is removed when this session ends. */
  childSessionKey?: string
  /** The number of ancestors: sessions that launched each other down to this one. */
  spawnDepth: number
  /** How often progress is reported to the session that launched it, and whether tool calls are included. */
  relay?: { everySeconds: number; tools: boolean }
  /** The session ends after this time without activity; time spent waiting for a person is not counted. */
  timeoutSeconds?: number
}

export interface CodingSession {
  /** Eight characters. */
  id: string
  /** Unique among all stored sessions. */
  name: string
  request: CodingRequest
  status: CodingStatus
  lifecycle: CodingLifecycle
  /** Claude's id of the conversation, once known. */
  sdkSessionId?: string
  /** The id that Claude will use for a new conversation, stored before Claude starts. */
  newSdkSessionId?: string
  waiting?: Waiting
  end?: { reason: EndReason; message: string; at: number }
  createdAt: number
  startedAt?: number
  lastActivityAt: number
  /** The current budget: a person may have raised it. */
  budgetUsd: number
  /** Amounts that a person added to each shared limit, with the day of that decision. */
  allowances: Partial<Record<SharedLimit, { day: string; usd: number }>>
  costUsd: number
  turns: number
  contextTokens?: number
  contextWindow?: number
  model?: string
  /** Messages that agents sent in a row without a person. */
  autoResponds: number
  /** Milliseconds spent waiting for a person, not counting the current wait. */
  waitedMs: number
  /** When the current wait began, however many questions are open. */
  waitsSince?: number
  /** Messages that were not given to Claude yet, the oldest first. A new session has its prompt here. */
  inbox: string[]
  /** Messages given to Claude whose turn has not ended. If Claude dies before it records them, they are sent again. */
  given: GivenMessage[]
  /** The text that Claude is writing now; it becomes output when the block is complete or the turn is cut off. */
  writing?: string
  /** The current activity, in one line. */
  doing?: string
  /** The last sequence number of its output. */
  lastSeq: number
  /** The machine that has the repository, where several machines share a database. */
  machine?: string
  /** Text placed before the next message to Claude, for example that the session moved to another machine. */
  aside?: string
  /** The process that runs the session; absent while none does. */
  owner?: CodingOwner
  /** Claude's id of the conversation that this session continued, for display. */
  resumedFrom?: string
}

/** A message given to Claude. Claude's transcript records it under this uuid. */
export interface GivenMessage {
  uuid: string
  text: string
}

/** Daily limits that several sessions share. */
export type SharedLimit = 'repository' | 'agent' | 'day'

export interface CodingOwner {
  pid: number
  startTime: string
  /** The boot and pid namespace in which `pid` and `startTime` identify a process. */
  domain: string
  /** The permanent id of the machine; empty where it has none. */
  machine: string
  /** The machine's name for people; it may change. */
  host: string
}

export type OutputKind = 'text' | 'tool' | 'notice' | 'prompt'

export interface OutputBlock {
  seq: number
  at: number
  kind: OutputKind
  text: string
}

/** A file that a command would run, as it was when the person was asked. */
export interface Script {
  path: string
  sha256: string
}

export type ApprovalState = 'pending' | 'allowed' | 'denied' | 'expired'

/** A question to a person. It covers exactly this input: a changed input needs another approval. */
export interface Approval {
  id: string
  codingId?: string
  sessionKey?: string
  agentId: string
  kind: 'tool' | 'question' | 'plan' | 'budget'
  toolName: string
  input: Record<string, unknown>
  /** The directory that the tool would work in. */
  cwd?: string
  /** The scripts that the command would run. */
  scripts?: Script[]
  /** SHA-256 of tool, input, directory and scripts: only what was approved runs. */
  inputHash: string
  /** The whole command or question, for display; never cut. */
  shown: string
  state: ApprovalState
  askedAt: number
  expiresAt: number
  answeredAt?: number
  answeredBy?: string
  answer?: string
}

/** A permanent permission: this tool with this pattern, in this session. */
export interface Grant {
  id: string
  codingId?: string
  sessionKey?: string
  tool: string
  pattern: string
  grantedAt: number
  grantedBy: string
}

export function isRunning({ status }: Pick<CodingSession, 'status'>): boolean {
  return status === 'starting' || status === 'running'
}

export function isWorking(session: Pick<CodingSession, 'status' | 'lifecycle'>): boolean {
  return isRunning(session) && session.lifecycle !== 'awaiting-input'
}

/** Does the session belong to this machine? Rows without a machine were written before several machines shared a database. */
export function isOn(machine: string | undefined, session: Pick<CodingSession, 'machine'>): boolean {
  return machine === undefined || session.machine === undefined || session.machine === machine
}
