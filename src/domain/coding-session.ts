// A coding session: a background session of Claude Code, or of another coding agent, in a repository. `codingSessionSchema` is
// its row in the store; what operations show is made from the same schema.
import { z } from 'zod'
import { trimLevels } from './trim.ts'
import { agentKinds, permissionModes, type AgentKind } from './agent.ts'

/** The five values that other programs know. Finer states are in `lifecycle`. A session that waited for its next message when
 *  Rockpool stopped is completed. */
const codingStatus = z.enum(['starting', 'running', 'completed', 'failed', 'killed'])
export type CodingStatus = z.infer<typeof codingStatus>

const codingLifecycle = z.enum([
  /** Waits for its repository or for a free place; nothing runs yet. */
  'queued',
  'starting',
  /** Takes a turn. */
  'active',
  /** The turn is over; it waits for the next message. */
  'awaiting-input',
  'awaiting-approval',
  'awaiting-answer',
  'awaiting-plan',
  /** The budget is used up; the session continues when the budget is raised. */
  'awaiting-budget',
  /** No process; it can be resumed. */
  'suspended',
  'ended',
])
export type CodingLifecycle = z.infer<typeof codingLifecycle>

const endReason = z.enum([
  'done',
  'user',
  'idle-timeout',
  'timeout',
  'shutdown',
  /** The conversation is continued elsewhere. */
  'released',
  'crash',
  'budget',
  'start-failed',
  'turn-failed',
  /** Claude's usage limit stopped its turn; it can continue after the reset. */
  'usage-limit',
])
export type EndReason = z.infer<typeof endReason>

/** Claude's usage limit that stopped a turn. */
const usageLimit = z.object({
  /** When the limit is reset. */
  until: z.number(),
  /** Claude's name of the window: `five_hour`, `seven_day`, … */
  window: z.string().optional(),
})
export type UsageLimit = z.infer<typeof usageLimit>

/** The request that the session waits for, and since when. */
const waiting = z.object({
  for: z.enum(['input', 'approval', 'answer', 'plan', 'budget']),
  since: z.number(),
  /** One line: the question, the command, the plan's first line. */
  about: z.string(),
  approvalId: z.string().optional(),
})
export type Waiting = z.infer<typeof waiting>

/** The options of the launch. Only `workdir` changes later, when the session moves to another machine. */
const codingRequest = z.object({
  prompt: z.string(),
  workdir: z.string(),
  agentId: z.string(),
  agentKind: z.enum(agentKinds).optional().describe('The program that works; Claude Code when absent.'),
  name: z.string().optional(),
  label: z.string().optional(),
  model: z.string().optional(),
  budgetUsd: z.number(),
  systemPrompt: z.string().optional(),
  allowedTools: z.array(z.string()),
  permissionMode: z.enum(permissionModes),
  multiTurn: z.boolean(),
  /** A person launched it although only the reserve of a usage window was left. */
  despiteReserve: z.boolean().optional(),
  /** OpenClaw's thinking level: off, low, high, … */
  thinking: z.string().optional(),
  /** The session waits for its repository, and chooses the conversation to continue when it starts. */
  chooseWhenFree: z.boolean().optional(),
  /** Claude's id of the conversation to resume. */
  resume: z
    .object({
      sdkSessionId: z.string(),
      fork: z.boolean(),
      atMessage: z.string().optional(),
      /** Continue in a trimmed copy, made when the session starts. */
      trim: z.enum(trimLevels).optional(),
    })
    .optional(),
  /** `channel|target` or `channel|account|target`; `unknown` and `gateway` deliver nowhere. */
  originChannel: z.string(),
  originThreadId: z.string().optional(),
  /** The chat session of the agent that launched it. That agent takes a turn when this session waits or ends. */
  originSessionKey: z.string().optional(),
  /** The agent that launched the session for another agent. It sees the session too, and gets the notifications. */
  launchedBy: z.string().optional(),
  /** Launched by a program whose token is bound to an agent: notifications to agents have that program as author. */
  byProgram: z.boolean().optional(),
  /** Launched by a caller that may not approve: the owner added permission rules of this session for tasks of such callers. */
  withoutApprove: z.boolean().optional(),
  /** The row among the agent's sessions that is removed when this session ends. */
  childSessionKey: z.string().optional(),
  /** The number of ancestors: sessions that launched each other down to this one. */
  spawnDepth: z.number(),
  /** How often progress is reported to the session that launched it, and whether tool calls are included. */
  relay: z.object({ everySeconds: z.number(), tools: z.boolean() }).optional(),
  /** The session ends after this time without activity; time spent waiting for a person is not counted. */
  timeoutSeconds: z.number().optional(),
})
export type CodingRequest = z.infer<typeof codingRequest>

/** The process that runs a session. */
const codingOwner = z.object({
  pid: z.number(),
  startTime: z.string(),
  /** The boot and pid namespace in which `pid` and `startTime` identify a process. */
  domain: z.string(),
  /** The permanent id of the machine; empty where it has none. */
  machine: z.string(),
  /** The machine's name for people; it may change. */
  host: z.string(),
})
export type CodingOwner = z.infer<typeof codingOwner>

/** Daily limits that several sessions share. */
const sharedLimit = z.enum(['repository', 'agent', 'day'])
export type SharedLimit = z.infer<typeof sharedLimit>

/** The repository when the session began. What it changed is the difference from there. */
const repositoryBase = z.object({
  commit: z.string().optional().describe('Absent in a repository without commits.'),
  dirty: z
    .record(z.string(), z.string())
    .describe('Files that already differed from the commit, with a hash of each.'),
})
export type RepositoryBase = z.infer<typeof repositoryBase>

export const codingSessionSchema = z.object({
  /** Eight characters. */
  id: z.string(),
  /** Unique among all stored sessions. */
  name: z.string(),
  /** The title that a person gave to the conversation. It names the session, too. */
  title: z.string().optional(),
  request: codingRequest,
  status: codingStatus,
  lifecycle: codingLifecycle,
  /** Claude's id of the conversation, once known. */
  sdkSessionId: z.string().optional(),
  /** The id that Claude will use for a new conversation, stored before Claude starts. */
  newSdkSessionId: z.string().optional(),
  waiting: waiting.optional(),
  end: z
    .object({
      reason: endReason,
      message: z.string(),
      at: z.number(),
      limit: usageLimit.optional(),
      /** What the session loses for good when a person ends it; absent if it only waited for its next message. */
      lost: z.enum(['turn', 'request', 'messages']).optional(),
      /** It waited in the queue of its machine when that machine died, which queues it again when it is back. */
      queued: z.boolean().optional(),
    })
    .optional(),
  createdAt: z.number(),
  startedAt: z.number().optional(),
  lastActivityAt: z.number(),
  base: repositoryBase.optional(),
  /** The current budget: a person may have raised it. */
  budgetUsd: z.number(),
  /** Amounts that a person added to each shared limit, with the day of that decision. */
  allowances: z.partialRecord(sharedLimit, z.object({ day: z.string(), usd: z.number() })),
  costUsd: z.number(),
  turns: z.number(),
  contextTokens: z.number().optional(),
  contextWindow: z.number().optional(),
  model: z.string().optional(),
  /** Messages that agents sent in a row without a person. */
  autoResponds: z.number(),
  /** Milliseconds spent waiting for a person, not counting the current wait. */
  waitedMs: z.number(),
  /** When the current wait began, however many questions are open. */
  waitsSince: z.number().optional(),
  /** Messages that were not given to Claude yet, the oldest first. A new session has its prompt here. */
  inbox: z.array(z.string()),
  /** Messages given to Claude whose turn has not ended; Claude's transcript records each under its uuid. If Claude dies before it
   *  records them, they are sent again. */
  given: z.array(z.object({ uuid: z.string(), text: z.string() })),
  /** The text that Claude is writing now; it becomes output when the block is complete or the turn is cut off. */
  writing: z.string().optional(),
  /** The current activity, in one line. */
  doing: z.string().optional(),
  /** Claude's last words in its last turn, in one line. */
  lastWords: z.string().optional(),
  /** No person has looked at the result, or at the failure. */
  unseen: z.boolean().optional(),
  /** A question that expired without an answer, until a person looks at it or sends a message. */
  expired: z
    .object({ about: z.string(), at: z.number(), text: z.string().describe('"expired, no answer in 5 min"') })
    .optional(),
  /** The request that a person answered while no process ran the session. The answer is used if the resumed turn asks the same. */
  answered: z.string().optional(),
  /** When this session reached its limit, the owner was asked whether sessions continue by themselves. */
  askedToContinue: z.boolean().optional(),
  /** The last sequence number of its output. */
  lastSeq: z.number(),
  machine: z.string().optional().describe('The machine that it runs on, where several share a database.'),
  /** Text placed before the next message to Claude, for example that the session moved to another machine. */
  aside: z.string().optional(),
  /** Absent while no process runs the session. */
  owner: codingOwner.optional(),
  /** Claude's id of the conversation that this session continued, for display. */
  resumedFrom: z.string().optional(),
})
export type CodingSession = z.infer<typeof codingSessionSchema>

export function kindOf({ request }: { request: Pick<CodingRequest, 'agentKind'> }): AgentKind {
  return request.agentKind ?? 'claude'
}

/** Claude's ids of conversations are UUIDs. */
export function isClaudeId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text)
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

export type OutputKind = 'text' | 'tool' | 'notice' | 'prompt'

export interface OutputBlock {
  seq: number
  at: number
  kind: OutputKind
  text: string
}

/** A file that a command would run, as it was when the person was asked. */
const script = z.object({ path: z.string(), sha256: z.string() })
export type Script = z.infer<typeof script>

/** A question to a person. It covers exactly this input: a changed input needs another approval. */
export const approvalSchema = z.object({
  id: z.string(),
  codingId: z.string().optional(),
  /** Of a chat, or of a native session (domain/native-key.ts). */
  sessionKey: z.string().optional(),
  nativeName: z.string().optional().describe('The name of the native session that asks.'),
  /** Empty for a native session: it belongs to no agent. */
  agentId: z.string(),
  kind: z.enum(['tool', 'question', 'plan', 'budget']),
  toolName: z.string(),
  input: z.record(z.string(), z.unknown()),
  /** The directory that the tool would work in. */
  cwd: z.string().optional(),
  /** The scripts that the command would run. */
  scripts: z.array(script).optional(),
  /** SHA-256 of tool, input, directory and scripts: only what was approved runs. */
  inputHash: z.string(),
  toolUseId: z.string().optional().describe('The tool call that waits for the answer.'),
  /** The whole command or question, for display; never cut. */
  shown: z.string(),
  state: z.enum(['pending', 'allowed', 'denied', 'expired']),
  askedAt: z.number(),
  expiresAt: z.number().optional().describe('Absent: it waits without limit.'),
  answeredAt: z.number().optional(),
  answeredBy: z.string().optional(),
  answer: z.string().optional(),
})
export type Approval = z.infer<typeof approvalSchema>
export type ApprovalState = Approval['state']

export const ruleKinds = ['exact', 'command', 'edits'] as const
export type RuleKind = (typeof ruleKinds)[number]

/** A rule that lets requests pass without a question. Without a session it holds for all coding sessions. */
export const grantSchema = z.object({
  id: z.string(),
  codingId: z.string().optional(),
  sessionKey: z.string().optional(),
  kind: z.enum(ruleKinds).optional().describe('Exactly this input, unless it says otherwise.'),
  tool: z.string(),
  pattern: z
    .string()
    .describe('The exact input, or the words of the command; ` *` at the end: any further arguments.'),
  folder: z.string().optional().describe('The repository of the command, or the folder of the edits.'),
  until: z.number().optional().describe('When the rule ends; absent: never.'),
  grantedAt: z.number(),
  grantedBy: z.string(),
})
export type Grant = z.infer<typeof grantSchema>
