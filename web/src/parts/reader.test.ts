import { expect, test } from 'vitest'
import { Reader } from './reader.ts'

const named = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `item ${from + i}`)

/** A reader of items with an estimated height of 96 px, at a scroll position. */
function readerAt(keys: string[], top: number): Reader {
  const reader = new Reader()
  reader.take(keys, undefined)
  reader.moved({ scrollTop: top, clientHeight: 480, scrollHeight: keys.length * 96 })
  reader.look(96)
  return reader
}

test('a reader at the end stays at the end when more is said', () => {
  const reader = readerAt(named(0, 100), 9_600 - 480)
  reader.take(named(0, 110), undefined)
  expect(reader.top).toBe(110 * 96 - 480)
})

test('a list that grows under a reader at the end does not take them away from it; going up does', () => {
  const reader = readerAt(named(0, 100), 9_600 - 480)
  reader.moved({ scrollTop: 9_120, clientHeight: 480, scrollHeight: 9_800 })
  reader.take(named(0, 110), undefined)
  expect(reader.top).toBe(110 * 96 - 480)
  reader.moved({ scrollTop: 9_000, clientHeight: 480, scrollHeight: 10_560 })
  reader.take(named(0, 120), undefined)
  expect(reader.top).toBe(9_000)
})

test('older items that come before do not move what is read, also when those are higher than guessed', () => {
  const reader = readerAt(named(50, 100), 960)
  reader.grew(new Map([['item 60', 200]]))
  reader.take(named(0, 100), undefined)
  expect(reader.top).toBe(960 + 50 * 96)
  expect(reader.sizeOf(60)).toBe(200)
  expect(reader.total).toBe(100 * 96 + 104)
})

test('what grows above the reader moves the list along; what grows below does not', () => {
  const reader = readerAt(named(0, 100), 970)
  expect([reader.first, reader.last]).toEqual([9, 17])
  expect(reader.grew(new Map([['item 9', 196]]))).toBe(100)
  expect(reader.top).toBe(1_070)
  expect(reader.grew(new Map([['item 15', 500]]))).toBe(0)
})

test('one who came for an item keeps it in sight while things around it are measured, until they take the list in hand', () => {
  const reader = readerAt(named(0, 100), 9_120)
  reader.take(named(0, 100), 'item 30')
  expect(reader.top).toBe(30 * 96 - 80)
  reader.look(96)
  // On the screen above it, so it would push it away.
  expect(reader.grew(new Map([['item 29', 296]]))).toBe(200)
  reader.release()
  reader.look(96)
  expect(reader.grew(new Map([['item 30', 500]]))).toBe(0)
})

test('a list of other items is measured again', () => {
  const reader = readerAt(named(0, 50), 0)
  reader.grew(new Map([['item 0', 300]]))
  reader.take(named(500, 520), undefined)
  expect(reader.total).toBe(20 * 96)
})
