// Library functions that update one session: the facts of a message, the address of replies, the usage of turns.
import {
  deliveryContextOf,
  deliveryFields,
  mergeDeliveryContexts,
  readDeliveryContext,
  groupDisplayName,
} from '../domain/session.ts'
import type { DeliveryContext, SessionEntry, SessionOrigin } from '../domain/session.ts'
import type { NormalizedUsage } from '../sessions/usage.ts'

import { normalizeChatType, resolveGroupSessionKey } from './openclaw-context.ts'
import type { GroupKeyResolution, MsgContext } from './openclaw-context.ts'
import { mergeEntry } from './session-store.ts'
import { storeAt } from './stores.ts'

export async function recordSessionMetaFromInbound(params: {
  storePath: string
  sessionKey: string
  ctx: MsgContext
  groupResolution?: GroupKeyResolution | null
  createIfMissing?: boolean
}): Promise<SessionEntry | null> {
  const { storePath, sessionKey, ctx, groupResolution, createIfMissing = true } = params
  const entry = await storeAt(storePath).updateEntry(sessionKey, (existing) => {
    const meta = sessionMetaOf({ ctx, sessionKey, existing, groupResolution })
    if (!meta || (!existing && !createIfMissing)) return undefined
    return mergeEntry(existing, meta)
  })
  return entry ?? null
}

/** Sets the address of the next reply. Omitted fields keep their values if the chat is the same. */
export async function updateLastRoute(params: {
  storePath: string
  sessionKey: string
  channel?: string
  to?: string
  accountId?: string
  threadId?: string | number
  deliveryContext?: DeliveryContext
  ctx?: MsgContext
  groupResolution?: GroupKeyResolution | null
}): Promise<SessionEntry> {
  const { storePath, sessionKey, ctx, groupResolution } = params
  const entry = await storeAt(storePath).updateEntry(sessionKey, (existing) => {
    const said = mergeDeliveryContexts(
      readDeliveryContext(params.deliveryContext),
      readDeliveryContext(params),
    )
    const route = mergeDeliveryContexts(said, existing && deliveryContextOf(existing))
    const meta = ctx && sessionMetaOf({ ctx, sessionKey, existing, groupResolution })
    return mergeEntry(existing, { ...(route && deliveryFields(route)), ...meta })
  })
  // The update above always returns an entry.
  return entry!
}

interface MetaParams {
  ctx: MsgContext
  sessionKey: string
  existing?: SessionEntry
  groupResolution?: GroupKeyResolution | null
}

/** The fields that the message adds or changes; undefined if there are none. */
function sessionMetaOf(params: MetaParams): Partial<SessionEntry> | undefined {
  const group = groupMetaOf(params)
  const origin = { ...params.existing?.origin, ...originOf(params.ctx) }
  if (!group && Object.keys(origin).length === 0) return undefined
  return { ...group, ...(Object.keys(origin).length > 0 ? { origin } : {}) }
}

function originOf(ctx: MsgContext): SessionOrigin {
  const provider = ctx.OriginatingChannel || ctx.Surface || ctx.Provider
  return nonEmpty({
    label: labelOf(ctx),
    provider: provider?.trim().toLowerCase(),
    surface: ctx.Surface?.trim().toLowerCase(),
    chatType: normalizeChatType(ctx.ChatType),
    from: ctx.From?.trim(),
    to: (ctx.OriginatingTo ?? ctx.To)?.trim(),
    accountId: ctx.AccountId?.trim(),
    threadId: ctx.MessageThreadId,
  })
}

/** A readable name for the conversation. */
function labelOf(ctx: MsgContext): string | undefined {
  const said = ctx.ConversationLabel?.trim()
  if (said) return said
  if (normalizeChatType(ctx.ChatType) === 'direct') return ctx.SenderName?.trim() || ctx.From?.trim()
  return ctx.GroupChannel?.trim() || ctx.GroupSubject?.trim() || ctx.GroupSpace?.trim() || ctx.From?.trim()
}

function groupMetaOf(params: MetaParams): Partial<SessionEntry> | undefined {
  const { ctx, sessionKey, existing, groupResolution } = params
  const group = groupResolution ?? resolveGroupSessionKey(ctx)
  if (!group) return undefined
  const subject = ctx.GroupSubject?.trim()
  const isChannelName = group.chatType === 'channel' && subject?.startsWith('#')
  const names = {
    subject: isChannelName ? undefined : subject,
    groupChannel: ctx.GroupChannel?.trim() || (isChannelName ? subject : undefined),
    space: ctx.GroupSpace?.trim(),
  }
  if (names.groupChannel) names.subject = undefined
  const named = { ...existing, ...nonEmpty(names) }
  return {
    chatType: group.chatType,
    channel: group.channel,
    groupId: group.id,
    ...nonEmpty(names),
    displayName: groupDisplayName(group.channel, named, group.id || sessionKey),
  }
}

function nonEmpty<T extends object>(fields: T): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as T
}

/** Counts a compaction. The context then has `tokensAfter` tokens, or an unknown size. */
export async function incrementCompactionCount(params: {
  sessionEntry?: SessionEntry
  sessionStore?: Record<string, SessionEntry>
  sessionKey?: string
  storePath?: string
  now?: number
  tokensAfter?: number
}): Promise<number | undefined> {
  const { sessionStore, sessionKey, storePath, tokensAfter, now } = params
  const known = (sessionKey !== undefined && sessionStore?.[sessionKey]) || params.sessionEntry
  if (!sessionKey || !known) return undefined
  const oneMore = (entry: SessionEntry): SessionEntry =>
    mergeEntry(entry, {
      compactionCount: (entry.compactionCount ?? 0) + 1,
      ...(now === undefined ? {} : { updatedAt: now }),
      ...contextAfter(tokensAfter),
    })
  const entry = storePath
    ? (await storeAt(storePath).updateEntry(sessionKey, (existing) => oneMore(existing ?? known)))!
    : oneMore(known)
  if (sessionStore) sessionStore[sessionKey] = entry
  return entry.compactionCount
}

function contextAfter(tokensAfter: number | undefined): Partial<SessionEntry> {
  if (tokensAfter === undefined || tokensAfter <= 0) return { totalTokensFresh: false }
  const breakdown = {
    inputTokens: undefined,
    outputTokens: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  }
  return { totalTokens: tokensAfter, totalTokensFresh: true, ...breakdown }
}

/** Stores the usage of a turn. `totalTokens` is the size of the context: the prompt, not the answer. */
export async function persistSessionUsageUpdate(params: {
  storePath?: string
  sessionKey?: string
  usage?: NormalizedUsage
  /** The last model call alone, when `usage` is the sum over several. */
  lastCallUsage?: NormalizedUsage
  modelUsed?: string
  providerUsed?: string
  contextTokensUsed?: number
  systemPromptReport?: unknown
  cliSessionId?: string
}): Promise<void> {
  const { storePath, sessionKey } = params
  if (!storePath || !sessionKey) return
  await storeAt(storePath).updateEntry(
    sessionKey,
    (existing) =>
      existing && mergeEntry(existing, { ...usageFields(params, existing), ...turnFields(params, existing) }),
  )
}

type UsageUpdate = Parameters<typeof persistSessionUsageUpdate>[0]

/** Billed tokens are summed over the life of the session id; the size of the context is that of the last call. */
function usageFields({ usage, lastCallUsage }: UsageUpdate, existing: SessionEntry): Partial<SessionEntry> {
  if (!usage) return {}
  const last = lastCallUsage ?? usage
  const occupied = (last.input ?? 0) + (last.cacheRead ?? 0) + (last.cacheWrite ?? 0)
  return {
    inputTokens: (existing.inputTokens ?? 0) + (usage.input ?? 0),
    outputTokens: (existing.outputTokens ?? 0) + (usage.output ?? 0),
    cacheRead: (existing.cacheRead ?? 0) + (usage.cacheRead ?? 0),
    cacheWrite: (existing.cacheWrite ?? 0) + (usage.cacheWrite ?? 0),
    totalTokens: occupied || (last.total ?? 0),
    totalTokensFresh: true,
  }
}

function turnFields(params: UsageUpdate, existing: SessionEntry): Partial<SessionEntry> {
  const { modelUsed, providerUsed, contextTokensUsed, systemPromptReport, cliSessionId } = params
  const provider = providerUsed ?? existing.modelProvider
  return {
    ...(modelUsed === undefined ? {} : { model: modelUsed }),
    ...(providerUsed === undefined ? {} : { modelProvider: providerUsed }),
    ...(contextTokensUsed === undefined ? {} : { contextTokens: contextTokensUsed }),
    ...(systemPromptReport === undefined ? {} : { systemPromptReport }),
    ...(cliSessionId && provider
      ? { cliSessionIds: { ...existing.cliSessionIds, [provider]: cliSessionId } }
      : {}),
  }
}
