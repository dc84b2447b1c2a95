import { expect, test } from 'vitest'
import { jsonRuns, jsonText } from './json-text.ts'

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
])('%s has the same text in runs as in one piece', (_words, answer) => {
  expect([...jsonRuns(answer)].join('')).toBe(jsonText(answer))
})

test('a long list is written in several runs', () => {
  expect([...jsonRuns({ sessions: long })].length).toBeGreaterThan(2)
})
