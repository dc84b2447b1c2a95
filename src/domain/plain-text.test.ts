import { expect, test } from 'vitest'
import { processorMs } from '../../test/support/processor-time.ts'
import { plainLine } from './plain-text.ts'

test('escape sequences, control characters and changes of direction are gone', () => {
  expect(plainLine('\u001b]0;x\u0007title\u001b[31m red\u001b[0m')).toBe('title red')
  expect(plainLine('one\r\n\ttwo\u2028three\u0000')).toBe('one two three')
  expect(plainLine('abc\u202edcba\u2066x')).toBe('abcdcbax')
})

test('a long text is cut between code points, never inside one', () => {
  const cut = plainLine('😀'.repeat(500))
  expect(Array.from(cut)).toHaveLength(200)
  expect(cut.endsWith('😀…')).toBe(true)
  expect(cut.isWellFormed()).toBe(true)
})

test('ten megabytes are cut in a moment', async () => {
  const text = 'x'.repeat(10_000_000)
  expect(plainLine(text, 10)).toBe('xxxxxxxxx…')
  expect(await processorMs(() => plainLine(text, 10))).toBeLessThan(200)
})
