// What a message tells about its session: where it came from and what the group is called. In OpenClaw's field names,
// because it goes into the row.
import { normalizeChatType } from './msg-context.ts'
import type { MsgContext } from './msg-context.ts'
import { resolveGroupSessionKey } from './session-key.ts'
import type { GroupKeyResolution } from './session-key.ts'
import type { SessionEntry, SessionOrigin } from './session.ts'

export interface MetaParams {
  ctx: MsgContext
  sessionKey: string
  existing?: SessionEntry
  groupResolution?: GroupKeyResolution | null
}

/** The fields that the message adds or changes; undefined when it says nothing. */
export function sessionMetaOf(params: MetaParams): Partial<SessionEntry> | undefined {
  const group = groupMetaOf(params)
  const origin = { ...params.existing?.origin, ...originOf(params.ctx) }
  if (!group && Object.keys(origin).length === 0) return undefined
  return { ...group, ...(Object.keys(origin).length > 0 ? { origin } : {}) }
}

function originOf(ctx: MsgContext): SessionOrigin {
  const provider = ctx.OriginatingChannel || ctx.Surface || ctx.Provider
  return onlySaid({
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

/** What a person would call the conversation. */
function labelOf(ctx: MsgContext): string | undefined {
  const said = ctx.ConversationLabel?.trim()
  if (said) return said
  if (normalizeChatType(ctx.ChatType) === 'direct') return ctx.SenderName?.trim() || ctx.From?.trim()
  return ctx.GroupChannel?.trim() || ctx.GroupSubject?.trim() || ctx.GroupSpace?.trim() || ctx.From?.trim()
}

function groupMetaOf({
  ctx,
  sessionKey,
  existing,
  groupResolution,
}: MetaParams): Partial<SessionEntry> | undefined {
  const group = groupResolution ?? resolveGroupSessionKey(ctx)
  if (!group) return undefined
  const subject = ctx.GroupSubject?.trim()
  const isChannelName = group.chatType === 'channel' && subject?.startsWith('#')
  const said = {
    subject: isChannelName ? undefined : subject,
    groupChannel: ctx.GroupChannel?.trim() || (isChannelName ? subject : undefined),
    space: ctx.GroupSpace?.trim(),
  }
  if (said.groupChannel) said.subject = undefined
  const named = { ...existing, ...onlySaid(said) }
  return {
    chatType: group.chatType,
    channel: group.channel,
    groupId: group.id,
    ...onlySaid(said),
    displayName: groupDisplayName(group.channel, named, group.id || sessionKey),
  }
}

/** `slack:acme#general`, `whatsapp:g-family`: short, and safe to show anywhere. */
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

/** A name that was made from the key alone: to people the key itself, or what was said, is of more use. */
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

function onlySaid<T extends object>(fields: T): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as T
}
