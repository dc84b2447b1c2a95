// A coding session: a background Claude Code session in a repository.
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

/** What it waits for, and since when. */
export interface Waiting {
  for: 'input' | 'approval' | 'answer' | 'plan' | 'budget'
  since: number
  /** One line: the question, the command, the plan's first line. */
  about: string
  approvalId?: string
}

/** What was asked for at launch. Stays as it was, but for the place: that changes when it is moved. */
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
  /** How much to think, in OpenClaw's words: off, low, high, … */
  thinking?: string
  /** Queued for its repository: which conversation it continues is decided when it starts. */
  chooseWhenFree?: boolean
  /** Claude's id of the conversation to resume. */
  resume?: { sdkSessionId: string; fork: boolean; atMessage?: string }
  /** `channel|target` or `channel|account|target`; `unknown` and `gateway` deliver nowhere. */
  originChannel: string
  originThreadId?: string
  /** The session of ours that launched it; it is woken when this one waits or ends. */
  originSessionKey?: string
  /** The agent that launched it, when it did so for another one: it sees it too, and is the one that is woken. */
  launchedBy?: string
  /** A program whose token is bound to an agent launched it: what it says is told as that program's words. */
  byProgram?: boolean
  /** Its row among the sessions of its agent, when that goes with the session's end. */
  childSessionKey?: string
  /** How many sessions above it began one another. */
  spawnDepth: number
  /** How often progress is reported to the session that launched it, and whether tool calls are included. */
  relay?: { everySeconds: number; tools: boolean }
  /** Idle limit after which the session is ended; time spent waiting for a person does not count. */
  timeoutSeconds?: number
}

export interface CodingSession {
  /** Eight characters. */
  id: string
  /** Unique among all that can still be resolved. */
  name: string
  request: CodingRequest
  status: CodingStatus
  lifecycle: CodingLifecycle
  /** Claude's id of the conversation, once known. */
  sdkSessionId?: string
  /** The id that Claude is told to give a new conversation, stored before Claude starts. */
  newSdkSessionId?: string
  waiting?: Waiting
  end?: { reason: EndReason; message: string; at: number }
  createdAt: number
  startedAt?: number
  lastActivityAt: number
  /** The budget now: it may have been raised. */
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
  /** Messages that Claude has not got yet, the oldest first; the first prompt is the first of them. */
  inbox: string[]
  /** Messages that Claude was given and has not dealt with. It may die before it writes them down: then they are said again. */
  given: GivenMessage[]
  /** The text that Claude is writing now; it becomes output when it is whole, or when the turn is cut off. */
  writing?: string
  /** What it does now, in one line. */
  doing?: string
  /** The last sequence number of its output. */
  lastSeq: number
  /** Which machine it belongs to, where several share a database: the one that has its repository. */
  machine?: string
  /** Text placed before the next message to Claude: that the session was moved, and what is different. */
  aside?: string
  /** The process that runs it, and the machine that this process is on. */
  owner?: CodingOwner
  /** The session it went on from, for display. */
  resumedFrom?: string
}

/** A message on its way into Claude's transcript, where it is known by its uuid. */
export interface GivenMessage {
  uuid: string
  text: string
}

/** Limits of a day that several sessions share. */
export type SharedLimit = 'repository' | 'agent' | 'day'

export interface CodingOwner {
  pid: number
  startTime: string
  /** The boot and pid namespace in which these two mean something. */
  domain: string
  /** What the machine calls itself for ever; empty where it does not say. */
  machine: string
  /** Its name, for people; it may change. */
  host: string
}

export type OutputKind = 'text' | 'tool' | 'notice' | 'prompt'

export interface OutputBlock {
  seq: number
  at: number
  kind: OutputKind
  text: string
}

/** A file that a command would run, as it was when a person was asked. */
export interface Script {
  path: string
  sha256: string
}

export type ApprovalState = 'pending' | 'allowed' | 'denied' | 'expired'

/** Something a person is asked. Bound to the exact input: a changed input is another request. */
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
  /** SHA-256 of tool, input, directory and scripts, so that what is approved is what runs. */
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

/** What was allowed once and for all: this tool, this pattern, in this session. */
export interface Grant {
  id: string
  codingId?: string
  sessionKey?: string
  tool: string
  pattern: string
  grantedAt: number
  grantedBy: string
}
