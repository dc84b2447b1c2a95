// A reply that will not be sent (again): nobody may be left waiting for it. The chat is told when it may have missed
// something and can have it again, the owner is told in another chat, and the agent hears of it before its next turn.
import { randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import { isSameChat } from '../domain/address.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import type { DeadEnd } from '../replies/deliver.ts'
import type { Outbox } from '../store/work-store.ts'
import { noticeFor } from './deliveries.ts'

export interface UndeliveredParts {
  now: () => number
  deliver: (notices: Delivery[]) => Promise<unknown>
  /** Something the agent of this session should know. */
  tell: (sessionKey: string, text: string) => Promise<void>
  /** Where the owners can be reached, in private. */
  ownerChats: () => Address[]
}

/** What these notices are called; one that cannot be delivered itself begins no further ones. */
const noteKey = /^(unsure|undelivered):/
const hourMs = 3_600_000

export async function reportUndelivered(
  delivery: Delivery,
  { reason, isUncertain }: DeadEnd,
  parts: UndeliveredParts,
): Promise<void> {
  const { sessionKey, address } = delivery
  // Only an agent's session is told; a notice of a coding session has nobody behind it.
  if (sessionKey !== undefined && parseAgentSessionKey(sessionKey))
    await parts.tell(sessionKey, `A reply could not be delivered to ${address.channel}: ${reason}`)
  const isNote = noteKey.test(delivery.idempotencyKey)
  await parts.deliver([
    ...(isUncertain && !isNote ? [noteInChat(delivery, parts.now())] : []),
    // A note that failed is still worth telling the owner; what was for the owner himself is in `rockpool status`.
    ...(delivery.idempotencyKey.startsWith('undelivered:') ? [] : notesToOwners(delivery, reason, parts)),
  ])
}

/** What somebody wants again who pressed the button of a note, if that is what he pressed. Only in its own chat. */
export async function wantedAgain(
  message: Message,
  outbox: Pick<Outbox, 'get'>,
  now: number,
): Promise<Delivery | undefined> {
  const id = againData.exec(message.button?.data ?? '')?.[1]
  const row = id === undefined ? undefined : await outbox.get(id)
  if (row?.state !== 'dead' || !isSameChat(row.delivery.address, message.address)) return undefined
  // A press that the platform repeats is the same press.
  const idempotencyKey = `again:${id}:${message.id}`
  return { ...row.delivery, id: randomUUID(), idempotencyKey, createdAt: now }
}

const againData = /^again:(.+)$/

/** In the place of a third copy. Short, so it may be repeated more often than what it is about. */
function noteInChat(delivery: Delivery, now: number): Delivery {
  const text =
    `I sent a message here twice and could not learn whether it arrived${beginningOf(delivery)}. ` +
    'If you do not see it, let me send it again.'
  const note = noticeFor(delivery.address, text, `unsure:${delivery.id}`, now, delivery.sessionKey)
  const buttons = [[{ label: 'Send it again', data: `again:${delivery.id}` }]]
  return { ...note, reply: { text, buttons }, repeats: 5 }
}

/** What it says: announcements before the answer, in brackets, tell nobody which one it was. */
function beginningOf({ reply }: Delivery): string {
  const lines = (reply.text ?? '').split('\n').map((line) => line.trim())
  const line = lines.find((one) => one !== '' && !/^\(.*\)$/.test(one)) ?? lines[0] ?? ''
  return line === '' ? '' : ` (it began: ${line.length > 60 ? `${line.slice(0, 60)}…` : line})`
}

/** At most one in an hour for each chat that cannot be reached: the rest is in `rockpool status`. */
function notesToOwners({ address }: Delivery, reason: string, parts: UndeliveredParts): Delivery[] {
  const now = parts.now()
  const chat = `${address.channel}:${address.accountId}:${address.to}`
  const text =
    `A message to ${address.to} on ${address.channel} could not be delivered: ${reason} ` +
    '`rockpool status` lists what was not delivered.'
  return parts
    .ownerChats()
    .filter(({ channel, to }) => channel !== address.channel || to !== address.to)
    .map((owner) =>
      noticeFor(
        owner,
        text,
        `undelivered:${owner.channel}:${owner.to}:${chat}:${Math.floor(now / hourMs)}`,
        now,
      ),
    )
}
