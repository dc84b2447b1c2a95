// A message in the form that the seeds and OpenClaw's own code pass through the inbound pipeline. Our word is
// Message; this form exists because every pipeline function keeps the seeds' name and shape.
import type { ChatType } from './message.ts'

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
  /** Set for a reply in a thread: the session of the chat that the thread hangs from. */
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

/** `dm` is the older word for `direct`. */
export function normalizeChatType(chatType: string | undefined): ChatType | undefined {
  const lower = chatType?.trim().toLowerCase()
  if (lower === 'dm' || lower === 'direct') return 'direct'
  return lower === 'group' || lower === 'channel' ? lower : undefined
}
