import { expect, test } from 'vitest'
import { editsBetween, nearWord } from './near-word.ts'

test.each([
  ['flaky', 'flaky', 0],
  ['flaky', 'flakey', 1],
  ['search', 'serach', 1],
  ['retry', 'retrry', 1],
  ['token', 'taken', 1],
  ['token', 'tokens', 1],
  ['token', 'broken', 2],
  ['token', 'harbour', 2],
])('from %s to %s it takes %i edits, as far as one is looked', (a, b, edits) => {
  expect(editsBetween(a, b, 1)).toBe(edits)
  expect(editsBetween(b, a, 1)).toBe(edits)
})

test('of words that are equally near, the most frequent one is suggested; short words and signs get none', () => {
  const texts = new Map([
    ['harbour', { count: 3, text: 'Harbour walls' }],
    ['harbor', { count: 9, text: 'the harbor' }],
    ['har', { count: 99, text: 'har' }],
  ])
  const vocabulary = {
    stemOf: (word: string) => word,
    stemsLike: () => texts.keys(),
    passageWith: (stem: string) => texts.get(stem),
  }
  expect(nearWord('harboor', vocabulary)).toBe('harbor')
  expect(nearWord('harbourr', vocabulary)).toBe('harbour')
  expect(nearWord('hat', vocabulary)).toBeUndefined()
  expect(nearWord('har-', vocabulary)).toBeUndefined()
})
