// finalizeInboundContext: every variant of a message's body, made once, in the seeds' order. What comes after may
// rely on all of them being there.
import type { ChatType, Message } from '../domain/message.ts'
import type { MsgContext } from '../domain/msg-context.ts'
import { normalizeChatType } from '../domain/msg-context.ts'
import type { MentionRules } from './mentions.ts'
import { stripMentions } from './mentions.ts'
import {
  neutralizeMarkers,
  normalizeInboundTextNewlines,
  stripInvisible,
  stripStructuralPrefixes,
} from './normalize.ts'
import { formatInboundBodyWithSenderMeta, withSenderLine } from './sender-meta.ts'

export type FinalizedContext = MsgContext &
  Required<
    Pick<
      MsgContext,
      'Body' | 'RawBody' | 'CommandBody' | 'BodyForAgent' | 'BodyForCommands' | 'CommandAuthorized'
    >
  >

/** Body variants, chat type and authorization, whatever the channel left out. A body that is there is kept; only its
 *  line ends, wrappers and sender line are put right. */
export function finalizeInboundContext(ctx: MsgContext, mentions: MentionRules = {}): FinalizedContext {
  const chatType = normalizeChatType(ctx.ChatType)
  const clean = (text: string): string => stripStructuralPrefixes(normalizeInboundTextNewlines(text))
  const raw = normalizeInboundTextNewlines(ctx.RawBody ?? ctx.CommandBody ?? ctx.Body ?? '')
  const command = normalizeInboundTextNewlines(ctx.CommandBody ?? raw)
  const forCommands = clean(ctx.BodyForCommands ?? command)
  const finalized: FinalizedContext = {
    ...ctx,
    ...(chatType === undefined ? {} : { ChatType: chatType }),
    RawBody: raw,
    CommandBody: command,
    BodyForCommands: isGroup(chatType) ? stripMentions(forCommands, mentions).trim() : forCommands.trim(),
    BodyForAgent: clean(ctx.BodyForAgent ?? ctx.Body ?? raw),
    Body: normalizeInboundTextNewlines(ctx.Body ?? raw),
    UntrustedContext: (ctx.UntrustedContext ?? []).filter((text) => text.trim() !== ''),
    // Whoever forgets to decide has not allowed anything.
    CommandAuthorized: ctx.CommandAuthorized === true && ctx.Forwarded !== true,
  }
  finalized.Body = formatInboundBodyWithSenderMeta({ ctx: finalized, body: finalized.Body })
  finalized.BodyForAgent = formatInboundBodyWithSenderMeta({ ctx: finalized, body: finalized.BodyForAgent })
  return finalized
}

/** A message as the pipeline wants it. The text for the agent is stripped of what nobody can see and of imitated
 *  markers; the text for commands stays raw, because a command with an invisible character in it is none. */
export function contextOf(
  message: Message,
  options: { mayCommand: boolean; mentions?: MentionRules },
): MsgContext {
  const { address, sender, chatType } = message
  const forAgent = neutralizeMarkers(stripInvisible(normalizeInboundTextNewlines(message.text)))
  const ctx: MsgContext = {
    RawBody: message.text,
    CommandBody: message.text,
    ChatType: chatType,
    Provider: address.channel,
    Surface: address.channel,
    OriginatingChannel: address.channel,
    OriginatingTo: address.to,
    From: chatType === 'direct' ? sender.id : `${address.channel}:${chatType}:${address.to}`,
    To: address.to,
    AccountId: address.accountId,
    MessageSid: message.id,
    ...(address.threadId === undefined ? {} : { MessageThreadId: address.threadId }),
    ...replyFields(message),
    ...senderFields(message),
    ...groupFields(message),
    Timestamp: message.sentAt,
    WasMentioned: message.mentioned,
    CommandAuthorized: options.mayCommand,
    Forwarded: message.forwarded === true,
    UntrustedContext: untrustedOf(message),
  }
  return {
    ...ctx,
    Body: withSenderLine(forAgent, ctx),
    BodyForAgent: withSenderLine(
      chatType === 'direct' ? forAgent : stripMentions(forAgent, options.mentions),
      ctx,
    ),
  }
}

/** A part of the message's text for the agent, cleaned as the whole message is, with the line that names its sender. */
export function bodyForAgent(ctx: MsgContext, text: string): string {
  return withSenderLine(neutralizeMarkers(stripInvisible(text)), ctx)
}

function isGroup(chatType: ChatType | undefined): boolean {
  return chatType === 'group' || chatType === 'channel'
}

function replyFields({ replyTo }: Message): Partial<MsgContext> {
  if (!replyTo) return {}
  return {
    ReplyToId: replyTo.id,
    ...(replyTo.text === undefined ? {} : { ReplyToBody: replyTo.text }),
    ...(replyTo.senderName === undefined ? {} : { ReplyToSender: replyTo.senderName }),
  }
}

function senderFields({ sender }: Message): Partial<MsgContext> {
  return {
    SenderId: sender.id,
    ...(sender.name === undefined ? {} : { SenderName: sender.name }),
    ...(sender.username === undefined ? {} : { SenderUsername: sender.username }),
    ...(sender.tag === undefined ? {} : { SenderTag: sender.tag }),
    ...(sender.e164 === undefined ? {} : { SenderE164: sender.e164 }),
  }
}

function groupFields({ group }: Message): Partial<MsgContext> {
  return {
    ...(group?.title === undefined ? {} : { GroupSubject: group.title }),
    ...(group?.channelName === undefined ? {} : { GroupChannel: group.channelName }),
    ...(group?.space === undefined ? {} : { GroupSpace: group.space }),
  }
}

/** What is about the message rather than in it: the group's title, the text replied to, where it was forwarded. */
function untrustedOf(message: Message): string[] {
  const { group, replyTo } = message
  const about: string[] = []
  if (group?.title) about.push(`Group: ${group.title}`)
  if (replyTo?.text) about.push(`In reply to ${replyTo.senderName ?? 'an earlier message'}: ${replyTo.text}`)
  if (message.forwarded) about.push('The message was forwarded from somebody else.')
  for (const file of message.media)
    about.push(`Attached ${file.kind}: ${file.name ?? 'unnamed'} at ${file.path}`)
  return [...about, ...(message.untrusted ?? [])]
}
