import { expect, test } from 'vitest'
import { inOrder, itemsOf, placeInChat } from './chat-cards.ts'

const said = (id: string, second: number, text: string) => ({
  type: 'message',
  id,
  timestamp: new Date(second * 1000).toISOString(),
  message: { role: 'user' as const, content: text, timestamp: second * 1000 },
})

test('a message of a chat is found by its id, or as the first at or after a time', () => {
  const notice = { id: 'n1', at: 15_000, text: 'Launched', buttons: [], files: [] }
  const known = [said('a', 10, 'one'), said('b', 20, 'two'), said('c', 30, 'three')].flatMap(itemsOf)
  const items = inOrder(known, [notice], false)
  expect(items.map((item) => ('card' in item ? item.card.text : item.notice.text))).toEqual([
    'one',
    'Launched',
    'two',
    'three',
  ])
  expect(placeInChat(items, 'b', false)).toBe(2)
  expect(placeInChat(items, '@20000', false)).toBe(2)
  expect(placeInChat(items, '@20001', false)).toBe(3)
  expect(placeInChat(items, '@99000', false)).toBe(-1)
  expect(placeInChat(items, 'gone', false)).toBe(-1)
})

test('what lies before the part that is known is not taken for its beginning', () => {
  const known = itemsOf(said('b', 20, 'two'))
  const notice = { id: 'n1', at: 15_000, text: 'Launched', buttons: [], files: [] }
  expect(inOrder(known, [notice], true).map(({ key }) => key)).toEqual(['b 0'])
  expect(placeInChat(known, '@10000', true)).toBe(-1)
  expect(placeInChat(known, '@10000', false)).toBe(0)
})

test('an answer that was stopped says so', () => {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }
  const stopped = {
    type: 'message',
    id: 's',
    timestamp: new Date(16_000).toISOString(),
    message: {
      role: 'assistant' as const,
      content: [{ type: 'text' as const, text: 'One, two' }],
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'claude-sonnet-5',
      usage: { ...usage, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
      stopReason: 'aborted' as const,
      timestamp: 16_000,
    },
  }
  expect(itemsOf(stopped)).toMatchObject([
    { card: { kind: 'text', text: 'One, two' } },
    { card: { kind: 'notice', text: 'Stopped before its end.' } },
  ])
})

test('a notice is shown once: with its buttons where the page knows it, else as the transcript has it', () => {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }
  const copy = {
    type: 'message',
    id: 'm',
    timestamp: new Date(16_000).toISOString(),
    message: {
      role: 'assistant' as const,
      content: [{ type: 'text' as const, text: 'Launched' }],
      api: 'openai-responses',
      provider: 'openclaw',
      model: 'delivery-mirror',
      usage: { ...usage, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
      stopReason: 'stop' as const,
      timestamp: 16_000,
    },
  }
  const notice = { id: 'n1', at: 15_000, text: 'Launched', buttons: [], files: [] }
  expect(inOrder(itemsOf(copy), [notice], false).map(({ key }) => key)).toEqual(['n1'])
  expect(inOrder(itemsOf(copy), [], false)).toMatchObject([{ card: { kind: 'notice', text: 'Launched' } }])
  const foreign = { ...copy, message: { ...copy.message, writer: 'program' as const } }
  expect(inOrder(itemsOf(foreign), [notice], false).map(({ key }) => key)).toEqual(['n1'])
  expect(inOrder(itemsOf(foreign), [], false)).toMatchObject([
    { card: { kind: 'notice', text: 'A program wrote:\n\nLaunched' } },
  ])
})
