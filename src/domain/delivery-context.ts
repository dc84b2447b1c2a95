// Where the replies of a session go, as a row says it. There are three ways in which rows say it: as OpenClaw does
// (`channel, to, accountId, threadId`), as one of the seeds does (`channel, target, account`), and in `last…` fields.
import { isRecord } from './json.ts'
import type { Address } from './address.ts'
import type { DeliveryContext, SessionEntry } from './session.ts'

/** In OpenClaw's words, with nothing empty in it; undefined when it says nothing. */
export function readDeliveryContext(value: unknown): DeliveryContext | undefined {
  if (!isRecord(value)) return undefined
  const { channel, to, target, accountId, account, threadId } = value
  return withoutEmpty({
    channel: text(channel)?.toLowerCase(),
    to: text(to) ?? text(target),
    accountId: text(accountId) ?? text(account),
    threadId: typeof threadId === 'number' ? threadId : text(threadId),
  })
}

/** The address of the next reply of a session, if its entry names a chat. */
export function addressOfSession(entry: SessionEntry | undefined): Address | undefined {
  const { channel, to, accountId = 'default', threadId } = (entry && deliveryContextOf(entry)) ?? {}
  if (channel === undefined || to === undefined) return undefined
  return { channel, to, accountId, threadId: threadId === undefined ? undefined : String(threadId) }
}

export function deliveryContextOf(entry: SessionEntry): DeliveryContext | undefined {
  const last = readDeliveryContext({
    channel: entry.lastChannel,
    to: entry.lastTo,
    accountId: entry.lastAccountId,
    threadId: entry.lastThreadId,
  })
  return mergeDeliveryContexts(readDeliveryContext(entry.deliveryContext), last)
}

/** What `first` does not say comes from `second`, unless that is about another chat. */
export function mergeDeliveryContexts(
  first: DeliveryContext | undefined,
  second: DeliveryContext | undefined,
): DeliveryContext | undefined {
  if (!first || !second) return first ?? second
  if (first.channel && second.channel && first.channel !== second.channel) return first
  if (first.to && second.to && first.to !== second.to)
    return withoutEmpty({ ...first, channel: first.channel ?? second.channel })
  return { ...second, ...first }
}

/** The fields of a row that say it, all in agreement. */
export function deliveryFields(context: DeliveryContext): Partial<SessionEntry> {
  return {
    deliveryContext: context,
    lastChannel: context.channel,
    lastTo: context.to,
    lastAccountId: context.accountId,
    lastThreadId: context.threadId,
  }
}

function withoutEmpty(context: DeliveryContext): DeliveryContext | undefined {
  const said = Object.entries(context).filter(([, value]) => value !== undefined && value !== '')
  return said.length > 0 ? Object.fromEntries(said) : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}
