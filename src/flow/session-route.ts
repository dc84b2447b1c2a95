// Where the next words of a session go.
import type { Address } from '../domain/address.ts'
import { deliveryContextOf } from '../domain/delivery-context.ts'
import type { SessionEntry } from '../domain/session.ts'

export function routeOf(entry: SessionEntry | undefined): Address | undefined {
  const { channel, to, accountId = 'default', threadId } = (entry && deliveryContextOf(entry)) ?? {}
  if (channel === undefined || to === undefined) return undefined
  return { channel, to, accountId, ...(threadId === undefined ? {} : { threadId: String(threadId) }) }
}
