// From replies to deliveries: cut to what the channel takes in one message, each with a name so that it is said once.
import type { Address } from '../domain/address.ts'
import { orderedId } from '../domain/turn.ts'
import type { Delivery, Reply, SessionPoint } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'

/** Something that the program says to a chat by itself; the chat's history has it, too. */
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
    ...(sessionKey === undefined ? {} : { sessionKey }),
  }
}

export function deliveriesOf(
  replies: readonly Reply[],
  about: {
    turnId: string
    sessionKey: string
    address: Address
    maxTextLength: number
    now: number
    sessionPoint?: SessionPoint
    preview?: Preview
  },
): Delivery[] {
  const { preview } = about
  const isShown = preview?.messageId !== undefined
  const pieces = replies.flatMap((reply, index) =>
    piecesOf(reply, about.maxTextLength, isShown && index === 0),
  )
  return pieces.map((reply, index) => ({
    id: orderedId(about.now),
    lane: about.sessionKey,
    address: about.address,
    reply,
    idempotencyKey: `reply:${about.turnId}:${index}`,
    sessionKey: about.sessionKey,
    createdAt: about.now,
    // Without a place in the transcript it is no answer of the agent, but a reset or a failure.
    ...(about.sessionPoint ? { sessionPoint: about.sessionPoint } : { mirror: true }),
    ...(index === 0 && preview ? inPlaceOf(preview, reply) : {}),
  }))
}

/** What is in the chat of an answer that was shown while it was written. */
export type Preview = { messageId: string } | { messageId?: undefined; mayBeThere: true }

function inPlaceOf(
  { messageId }: Preview,
  reply: Reply,
): Pick<Delivery, 'replacesMessageId' | 'isSecondCopy'> {
  if (messageId === undefined) return { isSecondCopy: true }
  return isPlainText(reply) ? { replacesMessageId: messageId } : {}
}

/**
 * Only the first piece answers the message; files and buttons come with the last. Words that replace a preview go
 * without the files, because a message of words cannot become one with a file.
 */
function piecesOf(reply: Reply, maxTextLength: number, replaces: boolean): Reply[] {
  const { text, media, audioAsVoice, ...words } = reply
  if (!replaces || text === undefined || !media) return cut(reply, maxTextLength)
  return [...cut({ text, ...words }, maxTextLength), { media, ...(audioAsVoice ? { audioAsVoice } : {}) }]
}

function cut(reply: Reply, maxTextLength: number): Reply[] {
  const { text, media, buttons, replyToId, ...rest } = reply
  const texts = text === undefined ? [] : splitText(text, maxTextLength)
  const last = { ...(media ? { media } : {}), ...(buttons ? { buttons } : {}) }
  if (texts.length === 0) return [{ ...rest, ...last, ...(replyToId === undefined ? {} : { replyToId }) }]
  return texts.map((piece, index) => ({
    ...rest,
    text: piece,
    ...(index === 0 && replyToId !== undefined ? { replyToId } : {}),
    ...(index === texts.length - 1 ? last : {}),
  }))
}

function isPlainText(reply: Reply): boolean {
  return reply.text !== undefined && !reply.media && !reply.buttons
}
