// Reports a reply that will not be sent again. If the chat may have missed a message, it gets a note with a
// button to send it again. The owner gets a note in another chat, and the agent reads an event before its next turn.
import { randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import { isSameChat } from '../domain/address.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import type { DeadEnd } from '../replies/deliver.ts'
import type { Outbox } from '../store/work-store.ts'
import { noticeFor } from '../domain/reply.ts'

export interface UndeliveredParts {
  now: () => number
  deliver: (notices: Delivery[]) => Promise<unknown>
  /** Adds an event for the agent of this session. */
  addEvent: (sessionKey: string, text: string) => Promise<void>
  /** Where the owners can be reached, in private. */
  ownerChats: () => Address[]
}

/** Keys of these notices. A notice that cannot be delivered leads to no further notice in the chat. */
const noteKey = /^(unsure|undelivered):/
const hourMs = 3_600_000

export async function reportUndelivered(
  delivery: Delivery,
  { reason, isUncertain }: DeadEnd,
  parts: UndeliveredParts,
): Promise<void> {
  const { sessionKey, address } = delivery
  // Only sessions of agents get the event; a coding session does not read events.
  if (sessionKey !== undefined && parseAgentSessionKey(sessionKey))
    await parts.addEvent(sessionKey, `A reply could not be delivered to ${address.channel}: ${reason}`)
  const isNote = noteKey.test(delivery.idempotencyKey)
  await parts.deliver([
    ...(isUncertain && !isNote ? [noteInChat(delivery, parts.now())] : []),
    // The owner also learns of a failed note; a failed note to the owner is only in `rockpool status`.
    ...(delivery.idempotencyKey.startsWith('undelivered:') ? [] : notesToOwners(delivery, reason, parts)),
  ])
}

/** The delivery that the pressed button asks to send again; only in the chat of that delivery. */
export async function requestedAgain(
  message: Message,
  outbox: Pick<Outbox, 'get'>,
  now: number,
): Promise<Delivery | undefined> {
  const id = againData.exec(message.button?.data ?? '')?.[1]
  const row = id === undefined ? undefined : await outbox.get(id)
  if (row?.state !== 'dead' || !isSameChat(row.delivery.address, message.address)) return undefined
  // If the platform repeats a press, the key is the same and the message is sent once.
  const idempotencyKey = `again:${id}:${message.id}`
  return { ...row.delivery, id: randomUUID(), idempotencyKey, createdAt: now }
}

const againData = /^again:(.+)$/

/** Sent instead of a third copy. The note is short, so it may be repeated more often than the message. */
function noteInChat(delivery: Delivery, now: number): Delivery {
  const text =
    `I sent a message here twice and could not learn whether it arrived${beginningOf(delivery)}. ` +
    'If you do not see it, let me send it again.'
  const note = noticeFor(delivery.address, text, `unsure:${delivery.id}`, now, delivery.sessionKey)
  const buttons = [[{ label: 'Send it again', data: `again:${delivery.id}` }]]
  return { ...note, forOwner: delivery.forOwner, reply: { text, buttons }, repeats: 5 }
}

/** How the message starts, without announcements in brackets, which are the same in many messages. */
function beginningOf({ reply }: Delivery): string {
  const lines = (reply.text ?? '').split('\n').map((line) => line.trim())
  const line = lines.find((one) => one !== '' && !/^\(.*\)$/.test(one)) ?? lines[0] ?? ''
  return line === '' ? '' : ` (it began: ${line.length > 60 ? `${line.slice(0, 60)}…` : line})`
}

/** At most one note in an hour for each unreachable chat; `rockpool status` has all of them. */
function notesToOwners({ address }: Delivery, reason: string, parts: UndeliveredParts): Delivery[] {
  const now = parts.now()
  const chat = `${address.channel}:${address.accountId}:${address.to}`
  const text =
    `A message to ${address.to} on ${address.channel} could not be delivered: ${reason} ` +
    '`rockpool status` lists what was not delivered.'
  return parts
    .ownerChats()
    .filter(({ channel, to }) => channel !== address.channel || to !== address.to)
    .map((owner) => {
      const key = `undelivered:${owner.channel}:${owner.to}:${chat}:${Math.floor(now / hourMs)}`
      return { ...noticeFor(owner, text, key, now), forOwner: true }
    })
}
