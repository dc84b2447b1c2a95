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
  /** The budget is used up; it goes on when the budget is raised. */
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

/** What was asked for at launch. Stays as it was. */
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
  /** It had to wait for its repository: what it goes on with is chosen when its turn comes. */
  chooseWhenFree?: boolean
  /** Claude's id to go on from. */
  resume?: { sdkSessionId: string; fork: boolean; atMessage?: string }
  /** `channel|target` or `channel|account|target`; `unknown` and `gateway` deliver nowhere. */
  originChannel: string
  originThreadId?: string
  /** The session of ours that launched it; it is woken when this one waits or ends. */
  originSessionKey?: string
  /** Its row among the sessions of its agent, when that goes with the session's end. */
  childSessionKey?: string
  /** Who keeps it: the process that owns it ends it. `wait` runs in the asking process itself. */
  spawnDepth: number
  /** It is ended when it has done nothing for so long; a person who takes his time does not count. */
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
  waiting?: Waiting
  end?: { reason: EndReason; message: string; at: number }
  createdAt: number
  startedAt?: number
  lastActivityAt: number
  /** The budget now: it may have been raised. */
  budgetUsd: number
  /** What a person allowed it to spend beyond the limits that it shares with others. */
  sharedAllowanceUsd: number
  costUsd: number
  turns: number
  contextTokens?: number
  contextWindow?: number
  model?: string
  /** Messages that agents sent in a row without a person. */
  autoResponds: number
  /** Milliseconds spent waiting for a person. */
  waitedMs: number
  /** What it does now, in one line. */
  doing?: string
  /** The last sequence number of its output. */
  lastSeq: number
  /** The process that runs it, and the machine that this process is on. */
  owner?: { pid: number; startTime: string; domain: string; host: string }
  /** The session it went on from, for display. */
  resumedFrom?: string
}

export type OutputKind = 'text' | 'tool' | 'notice' | 'prompt'

export interface OutputBlock {
  seq: number
  at: number
  kind: OutputKind
  text: string
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
  /** SHA-256 of tool and input, so that what is approved is what runs. */
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
