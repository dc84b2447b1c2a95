// OpenClaw's form of a message and the library functions on it. The program itself uses Message; this form exists for
// programs that build on the library.
import { randomUUID } from 'node:crypto'
import { systemClock } from '../domain/clock.ts'
import { encodeId, knownPlatforms } from '../domain/session-key.ts'
import type { ChatType, Message, Sender } from '../domain/message.ts'
import { stripMentions, type MentionRules } from '../inbound/mentions.ts'
import { senderLabel, withSenderLine } from '../inbound/message-text.ts'
import { normalizeInboundTextNewlines, stripStructuralPrefixes } from '../inbound/message-text.ts'

export interface MsgContext {
  /** Full message with structural context (history, sender labels). */
  Body?: string
  /** Clean text from the channel. */
  RawBody?: string
  /** Text for command parsing; may include a mention. */
  CommandBody?: string
  /** Text for the agent. */
  BodyForAgent?: string
  /** Text for finding and matching commands. */
  BodyForCommands?: string
  /** Final text after the reset trigger was taken off and sender meta added. */
  BodyStripped?: string

  SessionKey?: string
  /** Set for a reply in a thread: the session of the chat that the thread belongs to. */
  ParentSessionKey?: string
  AgentId?: string
  From?: string
  To?: string
  AccountId?: string
  MessageSid?: string
  MessageThreadId?: string | number
  ReplyToId?: string
  ReplyToBody?: string
  ReplyToSender?: string
  /** `dm` is accepted and becomes `direct`. */
  ChatType?: ChatType | 'dm' | (string & {})
  /** The channel's name: telegram, discord, … */
  Provider?: string
  Surface?: string
  OriginatingChannel?: string
  OriginatingTo?: string
  ConversationLabel?: string
  GroupSubject?: string
  GroupChannel?: string
  GroupSpace?: string

  SenderName?: string
  SenderUsername?: string
  SenderTag?: string
  SenderE164?: string
  SenderId?: string

  Timestamp?: number
  WasMentioned?: boolean
  CommandAuthorized?: boolean
  /** The text was forwarded: it is content by another author, never a command. */
  Forwarded?: boolean
  UntrustedContext?: string[]
}

/** The context after its session was found. */
export interface TemplateContext extends MsgContext {
  SessionId?: string
  IsNewSession?: 'true' | 'false'
}

export type FinalizedContext = MsgContext &
  Required<
    Pick<
      MsgContext,
      'Body' | 'RawBody' | 'CommandBody' | 'BodyForAgent' | 'BodyForCommands' | 'CommandAuthorized'
    >
  >

/** Fills in the body variants, the chat type and the authorization. A body that is there is kept; only its line ends,
 *  wrappers and sender line are corrected. */
export function finalizeInboundContext(ctx: MsgContext, mentions: MentionRules = {}): FinalizedContext {
  const chatType = normalizeChatType(ctx.ChatType)
  const clean = (text: string): string => stripStructuralPrefixes(normalizeInboundTextNewlines(text))
  const raw = normalizeInboundTextNewlines(ctx.RawBody ?? ctx.CommandBody ?? ctx.Body ?? '')
  const command = normalizeInboundTextNewlines(ctx.CommandBody ?? raw)
  const forCommands = clean(ctx.BodyForCommands ?? command)
  const isGroup = chatType === 'group' || chatType === 'channel'
  const body = normalizeInboundTextNewlines(ctx.Body ?? raw)
  return {
    ...ctx,
    ChatType: chatType ?? ctx.ChatType,
    RawBody: raw,
    CommandBody: command,
    BodyForCommands: isGroup ? stripMentions(forCommands, mentions).trim() : forCommands.trim(),
    BodyForAgent: formatInboundBodyWithSenderMeta({ ctx, body: clean(ctx.BodyForAgent ?? ctx.Body ?? raw) }),
    Body: formatInboundBodyWithSenderMeta({ ctx, body }),
    UntrustedContext: (ctx.UntrustedContext ?? []).filter((text) => text.trim() !== ''),
    // Commands are allowed only if the caller says so.
    CommandAuthorized: ctx.CommandAuthorized === true && ctx.Forwarded !== true,
  }
}

/** `dm` is the older word for `direct`. */
export function normalizeChatType(chatType: string | undefined): ChatType | undefined {
  const lower = chatType?.trim().toLowerCase()
  if (lower === 'dm' || lower === 'direct') return 'direct'
  return lower === 'group' || lower === 'channel' ? lower : undefined
}

/** In groups, adds a line `[from: Alice (+1234567890)]` unless the text names its sender already. */
export function formatInboundBodyWithSenderMeta(params: { body: string; ctx: MsgContext }): string {
  const { body, ctx } = params
  const chatType = normalizeChatType(ctx.ChatType)
  if (!chatType || chatType === 'direct' || namesSender(body, ctx)) return body
  return withSenderLine(body, senderOf(ctx))
}

function namesSender(body: string, ctx: MsgContext): boolean {
  if (/(^|\n)\[from:/i.test(body)) return true
  const { name, username, tag, e164, id } = senderOf(ctx)
  // The envelope of group history: `[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice: …`.
  const named = /(?:^|\n)\[[^\]\n]+\] ([^\n:]{1,128}(?::[^\n:]{1,128})??): /.exec(body)?.[1]
  const known = [name, username, tag, e164, id, senderLabel(senderOf(ctx))]
  return named !== undefined && known.some((one) => one?.trim() === named)
}

function senderOf(ctx: MsgContext): Sender {
  const { SenderName, SenderUsername, SenderTag, SenderE164, SenderId = '' } = ctx
  return { id: SenderId, name: SenderName, username: SenderUsername, tag: SenderTag, e164: SenderE164 }
}

/** Our form of the message. */
export function messageOf(ctx: MsgContext): Message {
  const channel = ctx.OriginatingChannel ?? ctx.Provider ?? ctx.Surface ?? 'unknown'
  const to = ctx.OriginatingTo ?? ctx.To ?? ctx.From ?? ''
  const threadId = ctx.MessageThreadId === undefined ? undefined : String(ctx.MessageThreadId)
  return {
    id: ctx.MessageSid ?? randomUUID(),
    event: 'message',
    address: { channel, to, accountId: ctx.AccountId ?? 'default', threadId },
    chatType: normalizeChatType(ctx.ChatType) ?? 'direct',
    sender: { ...senderOf(ctx), id: ctx.SenderId ?? ctx.From ?? 'unknown' },
    text: ctx.RawBody ?? ctx.Body ?? '',
    sentAt: ctx.Timestamp ?? systemClock.now(),
    mentioned: ctx.WasMentioned ?? true,
    media: [],
    group: { title: ctx.GroupSubject, channelName: ctx.GroupChannel, space: ctx.GroupSpace },
  }
}

export interface GroupKeyResolution {
  key: string
  channel: string
  id: string
  chatType: 'group' | 'channel'
}

/** The group that a message came from; null for a direct chat. */
export function resolveGroupSessionKey(
  context: Pick<MsgContext, 'From' | 'ChatType' | 'Provider'>,
): GroupKeyResolution | null {
  const from = (context.From ?? '').trim()
  const chatType = context.ChatType?.trim().toLowerCase()
  const isWhatsAppGroup = from.toLowerCase().endsWith('@g.us')
  const isGroup =
    chatType === 'group' || chatType === 'channel' || /:(group|channel):/.test(from) || isWhatsAppGroup
  if (!isGroup) return null

  const [head = '', second = ''] = from.split(':').map((part) => part.trim().toLowerCase())
  const provider = context.Provider?.trim().toLowerCase()
  const headIsChannel = knownPlatforms.has(head) || (head !== '' && head === provider)
  const channel = headIsChannel ? head : provider || (isWhatsAppGroup ? 'whatsapp' : undefined)
  if (!channel) return null
  const secondIsKind = second === 'group' || second === 'channel'
  const skipped = headIsChannel ? (secondIsKind ? 2 : 1) : 0
  const id = from.split(':').slice(skipped).join(':').trim()
  if (id === '') return null
  const isChannel = secondIsKind ? second === 'channel' : from.includes(':channel:') || chatType === 'channel'
  const kind = isChannel ? 'channel' : 'group'
  const segment = encodeId(id, channel)
  return { key: `${encodeId(channel)}:${kind}:${segment}`, channel, id: segment, chatType: kind }
}
