// From replies to deliveries: cut to what the channel takes in one message, each with a name so that it is said once.
import { randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import { splitText } from '../domain/split-text.ts'

/** Something the program says to a chat by itself. */
export function noticeFor(
  address: Address,
  text: string,
  key: string,
  now: number,
  sessionKey?: string,
): Delivery {
  return {
    id: randomUUID(),
    lane: sessionKey ?? `notice:${address.channel}:${address.accountId}:${address.to}`,
    address,
    reply: { text },
    idempotencyKey: key,
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
    /** A preview that the first text replaces. */
    previewId?: string
  },
): Delivery[] {
  const pieces = replies.flatMap((reply) => piecesOf(reply, about.maxTextLength))
  return pieces.map((reply, index) => ({
    id: randomUUID(),
    lane: about.sessionKey,
    address: about.address,
    reply,
    idempotencyKey: `reply:${about.turnId}:${index}`,
    sessionKey: about.sessionKey,
    createdAt: about.now,
    ...(index === 0 && about.previewId !== undefined && isPlainText(reply)
      ? { replacesMessageId: about.previewId }
      : {}),
  }))
}

/** Only the first piece answers the message; files and buttons come with the last. */
function piecesOf(reply: Reply, maxTextLength: number): Reply[] {
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
