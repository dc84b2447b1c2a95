import { expect, test } from 'vitest'
import type { Card } from './data.ts'
import { named, placeOf } from './read-cards.ts'
import { joined, meeting } from './reading.ts'

const said = (uuid: string, at: number, kind: Card['kind'] = 'text'): Card => ({ uuid, at, kind, text: 'x' })

test('cards of one record have names of their own, the same in every piece', () => {
  const piece = named([said('a', 1), said('b', 2, 'thinking'), said('b', 2), said('b', 2)])
  expect(piece.map(({ key }) => key)).toEqual(['a', 'b', 'b 1', 'b 2'])
  expect(piece.map(({ isFirstOfRecord }) => isFirstOfRecord)).toEqual([true, true, false, false])
  expect(named([said('b', 2, 'thinking'), said('b', 2)]).map(({ key }) => key)).toEqual(['b', 'b 1'])
})

test('what is new joins what is known; pieces that do not meet do not', () => {
  const known = named([said('a', 1), said('b', 2)])
  expect(joined(known, named([said('b', 2), said('c', 3)]))?.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
  expect(joined(known, named([said('b', 2)]))).toBe(known)
  expect(joined(known, named([said('d', 9)]))).toBeUndefined()
  expect(joined([], known)).toBeUndefined()
})

test('a part that was read around a place ends where the newest piece begins, once they meet', () => {
  const newest = { items: named([said('y', 8), said('z', 9)]), before: 700 }
  const part = { items: named([said('m', 5), said('n', 6)]), before: 300, after: 500 }
  expect(meeting(part, newest)).toBe(part)
  const grown = { ...part, items: [...part.items, ...named([said('x', 7), said('y', 8)])] }
  const met = meeting(grown, newest)
  expect(met.items.map(({ key }) => key)).toEqual(['m', 'n', 'x'])
  expect([met.before, met.after]).toEqual([300, undefined])
})

test('a message is found by its uuid or its time, and not before the part of its time is read', () => {
  const cards = named([said('a', 10), said('b', 20)])
  expect(placeOf(cards, 'b', true)).toBe(1)
  expect(placeOf(cards, '@15', true)).toBe(1)
  expect(placeOf(cards, '@5', true)).toBe(-1)
  expect(placeOf(cards, '@5', false)).toBe(0)
})
