// What was said in a conversation of ours, read from its end as the reader goes up.
import { itemsOf } from './chat-cards.ts'
import type { ChatItem } from './chat-cards.ts'
import { placeInChat } from './chat-cards.ts'
import { useGateway } from './live.ts'
import { isNotFound, useReading } from './reading.ts'
import type { Piece, Reading } from './reading.ts'

const heard = new Set(['transcript-appended', 'turn-ended', 'message-accepted', 'session-changed'])

/** `at` is a message that must be among them; the reader came to see it. */
export function useSaid(key: string, at: string | undefined): Reading<ChatItem> {
  const { call } = useGateway()
  const read = async (wanted: { limit: number; before?: number }): Promise<Piece<ChatItem>> => {
    const { entries, before } = await call('sessions.history', { key, ...wanted })
    return { items: entries.flatMap(itemsOf), before }
  }
  return useReading(
    {
      name: key,
      read: (wanted) => read(wanted).catch(nothingYet),
      isNews: (event) => heard.has(event.type) && 'key' in event && event.key === key,
      most: 1000,
      canJump: false,
    },
    at === undefined ? undefined : { at, isAmong: (items) => placeInChat(items, at, true) !== -1 },
  )
}

/** A conversation begins with its first word; before that there is none to read. */
function nothingYet(error: unknown): Piece<ChatItem> {
  if (isNotFound(error)) return { items: [] }
  throw error
}
