// A reply to a chat. replies/ composes it from the agent's text; the outbox keeps it until it is sent.
import type { Address } from './address.ts'
import type { UntrustedWriter } from './transcript.ts'
import { orderedId } from './turn.ts'

export interface Button {
  label: string
  /** Opaque; comes back in `Message.button.data`. At most 64 bytes, the smallest platform limit. */
  data: string
}

export interface Reply {
  text?: string
  /** Files inside the session's own media folder. */
  media?: string[]
  /** The platform's id of the message to answer. */
  replyToId?: string
  audioAsVoice?: boolean
  isError?: boolean
  buttons?: Button[][]
  /** It asks a person for this approval: a reply to it is the answer. */
  approvalId?: string
  /** The agent behind the chat should take a turn; only OpenClaw's chats have such an agent. */
  wakesAgent?: boolean
}

/** A place in a session's transcript. */
export interface SessionPoint {
  sessionId: string
  /** The transcript entry that the place is after. */
  entryId?: string
}

/** A reply in the outbox, until the platform has accepted it or refused it for good. */
export interface Delivery {
  id: string
  /** The session key, or the address for notices: to one chat, deliveries of the same lane are sent in order. */
  lane: string
  address: Address
  reply: Reply
  /** Names the content, so that it is sent once: `reply:<turnId>:0`, `coding:<id>:completed`. */
  idempotencyKey: string
  /** It is for the owner alone: a private chat gets it only while it is the owner's. */
  forOwner?: boolean
  /** A private chat gets it also if its person has no access: a refusal, or what the operator sends on purpose. */
  forAnybody?: boolean
  /** The session that it belongs to; a reply to it goes there. */
  sessionKey?: string
  /** The session's transcript and entry at the time of this reply; the session may be reset before it is sent. */
  sessionPoint?: SessionPoint
  /** Copy it into the transcript of its chat's session when it is sent. Absent for an answer of the agent, which is in
   *  the transcript already, and for streamed output of a coding session, which has its own record. */
  mirror?: boolean
  /** A program or a hook wrote the text; the copy in the transcript says so. */
  writer?: UntrustedWriter
  /** The output stream that this continues: appended to the stream's last message where the platform can edit. */
  continues?: string
  /** The text replaces this message, a preview of it. */
  replacesMessageId?: string
  /** A preview may be visible that cannot be replaced, so this delivery is marked as a second copy. */
  isSecondCopy?: boolean
  createdAt: number
  /** How often it may be sent again, marked, while its arrival is unknown; once when absent. */
  repeats?: number
  /** When the reply expires; after a day when absent. */
  expiresAt?: number
}

/** A message of the program itself. It is copied into the chat's transcript. */
export function noticeFor(
  address: Address,
  text: string,
  key: string,
  now: number,
  sessionKey?: string,
): Delivery {
  return {
    id: orderedId(now),
    lane: sessionKey ?? `notice:${address.channel}:${address.accountId}:${address.to}`,
    address,
    reply: { text },
    idempotencyKey: key,
    mirror: true,
    createdAt: now,
    sessionKey,
  }
}
