import { expect, test } from 'vitest'
import { jsonPieces } from '../rpc/json-pieces.ts'
import { jsonText } from './json-text.ts'

const long = Array.from({ length: 3_000 }, (_, i) => ({
  id: i,
  text: `${'x'.repeat(i % 60)} é 漢 \u202e`,
  none: undefined,
}))

test.each([
  ['a short answer', { total: 1, sessions: [{ a: 1 }], none: undefined }],
  ['a long list', { total: 3_000, none: undefined, sessions: [...long, undefined, null], last: 'é' }],
  ['no object', ['a', null, 3]],
  ['nothing', undefined],
  ['a date', new Date(0)],
])('%s has the same text in pieces as in one', (_words, answer) => {
  expect([...jsonPieces(answer, jsonText)].join('')).toBe(jsonText(answer))
})

test('a long list is written in several pieces', () => {
  expect([...jsonPieces({ sessions: long }, jsonText)].length).toBeGreaterThan(2)
})
