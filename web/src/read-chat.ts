// The messages of a conversation, loaded from its end while scrolling up.
import { itemsOf } from './chat-cards.ts'
import type { ChatItem } from './chat-cards.ts'
import { placeInChat } from './chat-cards.ts'
import { useGateway } from './live.ts'
import { isNotFound, useReading } from './reading.ts'
import type { Piece, Reading } from './reading.ts'

const relevantEvents = new Set(['transcript-appended', 'turn-ended', 'message-accepted', 'session-changed'])

/** `at`: the message that the address names; it must be among the items. */
export function useChatMessages(key: string, at: string | undefined): Reading<ChatItem> {
  const { call } = useGateway()
  const read = async (wanted: { limit: number; before?: number }): Promise<Piece<ChatItem>> => {
    const { entries, before } = await call('sessions.history', { key, ...wanted })
    return { items: entries.flatMap(itemsOf), before }
  }
  return useReading(
    {
      name: key,
      read: (wanted) => read(wanted).catch(nothingYet),
      isNews: (event) => relevantEvents.has(event.type) && 'key' in event && event.key === key,
      most: 1000,
      canJump: false,
    },
    at === undefined ? undefined : { at, isAmong: (items) => placeInChat(items, at, true) !== -1 },
  )
}

/** A conversation starts with its first message; before that there is nothing to load. */
function nothingYet(error: unknown): Piece<ChatItem> {
  if (isNotFound(error)) return { items: [] }
  throw error
}
