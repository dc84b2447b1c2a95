// The replies of a turn as deliveries for the outbox: cut to fit into the messages of the channel, the first in place of the preview.
import type { Address } from '../domain/address.ts'
import type { Delivery, Reply, SessionPoint } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'
import { orderedId } from '../domain/turn.ts'
import type { Preview } from './live-turn.ts'

interface AboutDeliveries {
  turnId: string
  sessionKey: string
  address: Address
  forOwner?: boolean
  maxTextLength: number
  now: number
  /** Absent for a notice about a reset or a failure: such a reply has no place in the transcript yet. */
  sessionPoint?: SessionPoint
  preview?: Preview
}

export function deliveriesOf(replies: readonly Reply[], about: AboutDeliveries): Delivery[] {
  const { preview } = about
  const isPreviewed = preview?.messageId !== undefined
  const pieces = replies.flatMap((reply, index) =>
    piecesOf(reply, about.maxTextLength, isPreviewed && index === 0),
  )
  return pieces.map((reply, index) => ({
    id: orderedId(about.now),
    lane: about.sessionKey,
    address: about.address,
    reply,
    idempotencyKey: `reply:${about.turnId}:${index}`,
    forOwner: about.forOwner,
    sessionKey: about.sessionKey,
    createdAt: about.now,
    ...(about.sessionPoint ? { sessionPoint: about.sessionPoint } : { mirror: true }),
    ...(index === 0 && preview ? inPlaceOf(preview, reply) : {}),
  }))
}

function inPlaceOf(
  { messageId }: Preview,
  reply: Reply,
): Pick<Delivery, 'replacesMessageId' | 'isSecondCopy'> {
  if (messageId === undefined) return { isSecondCopy: true }
  const isPlainText = reply.text !== undefined && !reply.media && !reply.buttons
  return isPlainText ? { replacesMessageId: messageId } : {}
}

/**
 * Only the first piece answers the message; files and buttons come with the last. A text that replaces a preview is sent
 * without the files, because a text message cannot become one with a file.
 */
function piecesOf(reply: Reply, maxTextLength: number, replaces: boolean): Reply[] {
  const { text, media, audioAsVoice, ...words } = reply
  if (!replaces || text === undefined || !media) return cut(reply, maxTextLength)
  return [...cut({ text, ...words }, maxTextLength), { media, ...(audioAsVoice ? { audioAsVoice } : {}) }]
}

function cut(reply: Reply, maxTextLength: number): Reply[] {
  const { text, media, buttons, replyToId, ...rest } = reply
  const texts = text === undefined ? [] : splitText(text, maxTextLength)
  const last = { ...(media && { media }), ...(buttons && { buttons }) }
  if (texts.length === 0) return [{ ...rest, ...last, replyToId }]
  return texts.map((piece, index) => ({
    ...rest,
    text: piece,
    ...(index === 0 && replyToId !== undefined ? { replyToId } : {}),
    ...(index === texts.length - 1 ? last : {}),
  }))
}
