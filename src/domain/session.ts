// One ongoing conversation. Its key says who and where; its id names the current transcript. The entry has OpenClaw's
// field names, because OpenClaw reads and writes it, too.
import type { Address } from './address.ts'
import type { MessagesConfig } from './config/session-settings.ts'
import { isRecord } from './json.ts'
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

/** Everything that is stored about a session. Unknown fields of other programs are kept. */
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

/** The size of our part of the system prompt, as of the session's first turn, in OpenClaw's shape. */
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

/** Where replies go, in OpenClaw's fields (`channel, to, accountId, threadId`) or as `channel, target, account`.
 *  Empty fields are left out; undefined when nothing remains. */
export function readDeliveryContext(value: unknown): DeliveryContext | undefined {
  if (!isRecord(value)) return undefined
  const { channel, to, target, accountId, account, threadId } = value
  return withoutEmpty({
    channel: text(channel)?.toLowerCase(),
    to: text(to) ?? text(target),
    accountId: text(accountId) ?? text(account),
    threadId: typeof threadId === 'number' ? threadId : text(threadId),
  })
}

/** The address of the next reply of a session, if its entry names a chat. */
export function addressOfSession(entry: SessionEntry | undefined): Address | undefined {
  const { channel, to, accountId = 'default', threadId } = (entry && deliveryContextOf(entry)) ?? {}
  if (channel === undefined || to === undefined) return undefined
  return { channel, to, accountId, threadId: threadId === undefined ? undefined : String(threadId) }
}

/** From `deliveryContext` and the `last…` fields of an entry. */
export function deliveryContextOf(entry: SessionEntry): DeliveryContext | undefined {
  const last = readDeliveryContext({
    channel: entry.lastChannel,
    to: entry.lastTo,
    accountId: entry.lastAccountId,
    threadId: entry.lastThreadId,
  })
  return mergeDeliveryContexts(readDeliveryContext(entry.deliveryContext), last)
}

/** Fills the gaps in `first` from `second`, unless that is about another chat. */
export function mergeDeliveryContexts(
  first: DeliveryContext | undefined,
  second: DeliveryContext | undefined,
): DeliveryContext | undefined {
  if (!first || !second) return first ?? second
  if (first.channel && second.channel && first.channel !== second.channel) return first
  if (first.to && second.to && first.to !== second.to)
    return withoutEmpty({ ...first, channel: first.channel ?? second.channel })
  return { ...second, ...first }
}

/** All fields of an entry that say where replies go. */
export function deliveryFields(context: DeliveryContext): Partial<SessionEntry> {
  return {
    deliveryContext: context,
    lastChannel: context.channel,
    lastTo: context.to,
    lastAccountId: context.accountId,
    lastThreadId: context.threadId,
  }
}

function withoutEmpty({ channel, to, accountId, threadId }: DeliveryContext): DeliveryContext | undefined {
  const filled: DeliveryContext = {}
  if (channel) filled.channel = channel
  if (to) filled.to = to
  if (accountId) filled.accountId = accountId
  if (threadId !== undefined && threadId !== '') filled.threadId = threadId
  return channel || to || accountId || filled.threadId !== undefined ? filled : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

/** The name of a group's session: `slack:acme#general`, `whatsapp:g-family`: short, and safe to show anywhere. */
export function groupDisplayName(
  channel: string,
  { subject, groupChannel, space }: Pick<SessionEntry, 'subject' | 'groupChannel' | 'space'>,
  fallback: string,
): string {
  const inSpace = groupChannel && space ? `${space}#${groupChannel.replace(/^#/, '')}` : undefined
  const name = plainName(inSpace || groupChannel || subject || space || '') || plainName(fallback)
  if (name === '') return channel
  return /[#]|^@|^g-/.test(name) ? `${channel}:${name}` : `${channel}:g-${name}`
}

/** True for a name that was made from the key alone: the key itself, or a text of the session, tells people more. */
export function isNamedByKey({ key, displayName }: { key: string; displayName?: string }): boolean {
  return displayName?.endsWith(groupDisplayName('', {}, key)) ?? false
}

function plainName(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9#@._+-]+/g, '-')
    .replace(/-{2,}/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
}
