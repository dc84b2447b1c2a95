// How many copies of a reply people may come to see.
import type { Channel } from '../domain/channel.ts'
import type { Delivery } from '../domain/reply.ts'
import type { OutboxRow } from '../store/work-store.ts'

/** Does the platform still know by its key that this was sent? Then people see one message, however often it is sent. */
export function isKnownByKey({ createdAt }: Delivery, { abilities }: Channel, now: number): boolean {
  const { idempotentSend, idempotentForMs = Infinity } = abilities
  return idempotentSend && now - createdAt < idempotentForMs
}

/** The marked copy was the last one: however many crashes and lost answers there are, a person sees one at most. */
export function isGivenUp({ delivery, resent, attempts }: OutboxRow, isRepeatable: boolean): boolean {
  const { repeats = 1 } = delivery
  return resent && !isRepeatable && (repeats <= 1 || attempts > repeats)
}
