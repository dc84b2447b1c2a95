import { expect, test } from 'vitest'
import { chatItems, placeInChat } from './chat-cards.ts'

const said = (id: string, second: number, text: string) => ({
  type: 'message',
  id,
  timestamp: new Date(second * 1000).toISOString(),
  message: { role: 'user' as const, content: text, timestamp: second * 1000 },
})

test('a message of a chat is found by its id, or as the first at or after a time', () => {
  const notice = { id: 'n1', at: 15_000, text: 'Launched', buttons: [], files: [] }
  const items = chatItems([said('a', 10, 'one'), said('b', 20, 'two'), said('c', 30, 'three')], [notice])
  expect(items.map((item) => ('card' in item ? item.card.text : item.notice.text))).toEqual([
    'one',
    'Launched',
    'two',
    'three',
  ])
  expect(placeInChat(items, 'b')).toBe(2)
  expect(placeInChat(items, '@20000')).toBe(2)
  expect(placeInChat(items, '@20001')).toBe(3)
  expect(placeInChat(items, '@99000')).toBe(-1)
  expect(placeInChat(items, 'gone')).toBe(-1)
})
