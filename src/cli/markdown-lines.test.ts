import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { MarkdownLines } from './markdown-lines.ts'

const plain = (text: string, width = 40): string[] => {
  const lines = new MarkdownLines({ width, color: true })
  return text.split('\n').flatMap((line) => lines.format(line).map(stripVTControlCharacters))
}

test.each([
  ['# Result', ['Result']],
  ['Use **both** and `a * b * c`.', ['Use both and a * b * c.']],
  ['- one\n  - two', ['• one', '  • two']],
  ['1. first', ['1. first']],
  ['> said', ['│ said']],
  ['see [the page](https://a.example/x)', ['see the page (https://a.example/x)']],
  ['```ts\nconst **x** = 1\n```\n**y**', ['```ts', 'const **x** = 1', '```', 'y']],
  ['| a | b |', ['| a | b |']],
  ['2 * 3 * 4 and snake_case_name', ['2 * 3 * 4 and snake_case_name']],
])('%j is shown as text, not as signs', (text, expected) => {
  expect(plain(text)).toEqual(expected)
})

test('a long item is broken between words, below its text', () => {
  expect(plain('- one two three four five six', 24)).toEqual(['• one two three four', '  five six'])
})
