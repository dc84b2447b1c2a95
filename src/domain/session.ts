// One ongoing conversation. Its key says who and where; its id names the current transcript.
// The entry keeps OpenClaw's field names, because it is read and written beside OpenClaw.
import type { MessagesConfig } from './config/session-settings.ts'
import type { ChatType } from './message.ts'

export interface DeliveryContext {
  channel?: string
  to?: string
  accountId?: string
  threadId?: string | number
}

export interface SessionOrigin {
  label?: string
  provider?: string
  surface?: string
  chatType?: ChatType
  from?: string
  to?: string
  accountId?: string
  threadId?: string | number
}

export type QueueMode = NonNullable<MessagesConfig['queue']['mode']>
export type QueueDrop = NonNullable<MessagesConfig['queue']['drop']>

export interface SessionSkillSnapshot {
  prompt: string
  skills: Array<{ name: string; primaryEnv?: string }>
  resolvedSkills?: unknown[]
  version?: number
}

/** Everything that is stored about a session. Unknown fields are kept: newer programs write more of them. */
export interface SessionEntry {
  sessionId: string
  updatedAt: number
  sessionFile?: string
  sessionStartedAt?: number
  lastInteractionAt?: number
  spawnedBy?: string
  spawnDepth?: number
  parentSessionKey?: string
  forkedFromParent?: boolean
  archivedAt?: number
  pinnedAt?: number
  status?: string

  sdkSessionId?: string
  cliSessionIds?: Record<string, string>
  claudeCliSessionId?: string
  cliSessionBindings?: Record<string, unknown>

  channel?: string
  lastChannel?: string
  lastTo?: string
  lastAccountId?: string
  lastThreadId?: string | number
  deliveryContext?: DeliveryContext

  chatType?: ChatType
  groupId?: string
  subject?: string
  groupChannel?: string
  space?: string
  displayName?: string

  sendPolicy?: 'allow' | 'deny'
  groupActivation?: 'mention' | 'always'
  groupActivationNeedsSystemIntro?: boolean

  providerOverride?: string
  modelOverride?: string
  authProfileOverride?: string
  authProfileOverrideSource?: 'auto' | 'user'
  authProfileOverrideCompactionCount?: number

  execHost?: string
  execSecurity?: string
  execAsk?: string
  execNode?: string

  thinkingLevel?: string
  verboseLevel?: string
  reasoningLevel?: string
  elevatedLevel?: string
  responseUsage?: 'on' | 'off' | 'tokens' | 'full'
  ttsAuto?: string

  queueMode?: QueueMode
  queueDebounceMs?: number
  queueCap?: number
  queueDrop?: QueueDrop

  /** Billing totals over the life of this session id. */
  inputTokens?: number
  outputTokens?: number
  cacheRead?: number
  cacheWrite?: number
  estimatedCostUsd?: number
  /** Occupancy of the context at the last model call: input + cacheRead + cacheWrite. */
  totalTokens?: number
  totalTokensFresh?: boolean
  /** The size of the model's window, not its use. */
  contextTokens?: number
  modelProvider?: string
  model?: string

  compactionCount?: number
  memoryFlushAt?: number
  memoryFlushCompactionCount?: number

  systemSent?: boolean
  abortedLastRun?: boolean
  lastHeartbeatText?: string
  lastHeartbeatSentAt?: number

  origin?: SessionOrigin
  label?: string

  skillsSnapshot?: SessionSkillSnapshot
  systemPromptReport?: unknown

  [unknown: string]: unknown
}

/** What our part of the system prompt takes, as of the session's first turn, in OpenClaw's shape. */
export interface SessionSystemPromptReport {
  source: string
  generatedAt: number
  sessionId?: string
  sessionKey?: string
  provider?: string
  model?: string
  workspaceDir?: string
  systemPrompt: { chars: number; projectContextChars: number; nonProjectContextChars: number }
  skills: { promptChars: number; entries: Array<{ name: string; blockChars: number }> }
  [unknown: string]: unknown
}

/** An entry with its key: what most of the program passes around. */
export interface Session {
  key: string
  agentId: string
  entry: SessionEntry
}

/** Fields that are large and rarely read; lists leave them out. */
export const bulkyFields = ['skillsSnapshot', 'systemPromptReport'] as const
