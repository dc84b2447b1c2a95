import { execFileSync } from 'node:child_process'
import { assert, integer, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { processorMs } from '../../test/support/processor-time.ts'
import { plainLine, shellWord, splitText } from './text.ts'

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

test('short text stays one piece', () => {
  expect(splitText('hello', 100)).toEqual(['hello'])
  expect(splitText('', 100)).toEqual([''])
})

test('a long text is cut between paragraphs', () => {
  const text = `${'a'.repeat(60)}\n\n${'b'.repeat(60)}`
  expect(splitText(text, 100)).toEqual(['a'.repeat(60), 'b'.repeat(60)])
})

test('a code block that is cut is closed and opened again', () => {
  const code = Array.from({ length: 30 }, (_, line) => `const x${line} = ${line}`).join('\n')
  const pieces = splitText(`See:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nDone.`, 200)
  expect(pieces.length).toBeGreaterThan(2)
  for (const piece of pieces) expect(piece.match(/```/g)?.length ?? 0).toBe(piece.includes('```') ? 2 : 0)
  expect(pieces[1]).toMatch(/^```ts\n/)
})

test.each(['````md', '~~~'])('a block that opens with %s ends with its own kind of fence only', (opener) => {
  const fence = /^[`~]+/.exec(opener)![0]
  const inner = Array.from({ length: 20 }, (_, n) => `line ${n}\n\`\`\`\n`).join('')
  const pieces = splitText(`${opener}\n${inner}${fence}\n\nDone.`, 120)
  expect(pieces.length).toBeGreaterThan(2)
  for (const piece of pieces.filter((text) => text.includes('line'))) {
    expect(piece.startsWith(`${opener}\n`)).toBe(true)
    expect(piece.split('\n').filter((line) => line === fence).length).toBe(opener === fence ? 2 : 1)
    expect(piece.length).toBeLessThanOrEqual(120)
  }
})

test('every piece fits, no character is torn, and no word is lost', () => {
  assert(
    property(string({ unit: 'grapheme', maxLength: 400 }), integer({ min: 10, max: 90 }), (text, limit) => {
      const plain = text.replaceAll(/[`~]/g, "'")
      const pieces = splitText(plain, limit)
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(limit)
        expect(piece.isWellFormed()).toBe(true)
      }
      expect(pieces.join('').replace(/\s/g, '')).toBe(plain.replace(/\s/g, ''))
    }),
  )
})

test('a word of a shell command stays one word, whatever it contains', () => {
  const words = [
    '/home/ada/a;touch pwned;echo ',
    'it\'s $HOME `id` \\ "x"',
    '~',
    '',
    'two\nlines',
    'plain-1.0/x',
  ]
  const script = `printf '%s\\0' ${words.map(shellWord).join(' ')}`
  expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(
    words.map((word) => `${word}\0`).join(''),
  )
  expect(shellWord('/home/ada/shop')).toBe('/home/ada/shop')
})
