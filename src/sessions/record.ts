// What a message tells about its session: who and where, and where the next reply goes.
import type { Message } from '../domain/message.ts'
import { groupDisplayName } from '../domain/session-meta.ts'
import { isThreadSessionKey } from '../domain/session-key-forms.ts'
import type { DeliveryContext, SessionEntry, SessionOrigin } from '../domain/session.ts'

/** The row after a message came in. Only what a person does counts as interaction. */
export function recordInbound(key: string, entry: SessionEntry, message: Message, now: number): SessionEntry {
  const { lastThreadId: _stale, deliveryContext: _old, ...rest } = entry
  const route = routeOf(key, message)
  return {
    ...rest,
    ...groupOf(message),
    channel: entry.channel ?? message.address.channel,
    chatType: entry.chatType ?? message.chatType,
    origin: { ...entry.origin, ...originOf(message) },
    deliveryContext: route,
    lastChannel: route.channel,
    lastTo: route.to,
    lastAccountId: route.accountId,
    ...(route.threadId === undefined ? {} : { lastThreadId: route.threadId }),
    // Rows from before this was written down: from now on something better than `updatedAt` decides about resets.
    sessionStartedAt: entry.sessionStartedAt ?? entry.updatedAt,
    lastInteractionAt: now,
    updatedAt: Math.max(entry.updatedAt, now),
  }
}

/** Only a thread's own session replies into the thread; other sessions do not inherit a thread that was used before. */
function routeOf(key: string, { address }: Message): DeliveryContext {
  const { channel, to, accountId, threadId } = address
  const isInThread = threadId !== undefined && isThreadSessionKey(key)
  return { channel, to, accountId, ...(isInThread ? { threadId } : {}) }
}

function originOf(message: Message): SessionOrigin {
  const { address, chatType, sender } = message
  const isDirect = chatType === 'direct'
  const label = isDirect ? personLabel(message) : (message.group?.channelName ?? message.group?.title)
  return {
    ...(label ? { label } : {}),
    provider: address.channel,
    surface: address.channel,
    chatType,
    from: isDirect ? `${address.channel}:${sender.id}` : `${address.channel}:${chatType}:${address.to}`,
    to: address.to,
    accountId: address.accountId,
    ...(address.threadId === undefined ? {} : { threadId: address.threadId }),
  }
}

function personLabel({ sender }: Message): string {
  const name = sender.name ?? sender.username
  return name ? `${name} (${sender.id})` : sender.id
}

function groupOf({ chatType, address, group }: Message): Partial<SessionEntry> {
  if (chatType === 'direct') return {}
  const { title, channelName, space } = group ?? {}
  return {
    groupId: address.to,
    ...(title ? { subject: title } : {}),
    ...(channelName ? { groupChannel: channelName } : {}),
    ...(space ? { space } : {}),
    displayName: groupDisplayName(
      address.channel,
      { subject: title, groupChannel: channelName, space },
      address.to,
    ),
  }
}
