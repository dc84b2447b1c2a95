import { expect, test } from 'vitest'
import { partsOfCard, splitText } from './split-text.ts'

const paragraph = 'The tide comes in twice a day, and twice a day it goes. '.repeat(10).trim()

test('long Markdown is parted between its blocks, never within code or an item of a list', () => {
  const code = [
    '```ts',
    ...Array.from({ length: 80 }, (_, i) => `const pool${i} = ${i}`),
    '',
    'more',
    '```',
  ].join('\n')
  const text = [paragraph, paragraph, code, '- one\n\n  of it', paragraph].join('\n\n')
  const parts = splitText(text, true)
  expect(parts.length).toBeGreaterThan(2)
  expect(parts.map((part) => part.text).join('\n')).toBe(text)
  expect(parts.filter((part) => part.text.split('```').length % 2 === 0)).toEqual([])
  expect(parts.map(({ goesOn }) => goesOn)).toEqual([undefined, ...parts.slice(1).map(() => 'paragraph')])
})

test('a long list is parted between its items', () => {
  const text = Array.from({ length: 200 }, (_, i) => `- item number ${i}\n  and more of it`).join('\n')
  const parts = splitText(text, true)
  expect(parts.length).toBeGreaterThan(3)
  expect(parts.every((part) => part.text.startsWith('- item'))).toBe(true)
  expect(parts.at(-1)?.goesOn).toBe('line')
})

test('what is not Markdown is parted between lines, and a line without end wherever it must be', () => {
  const log = Array.from({ length: 300 }, (_, i) => `  line ${i} of the log`).join('\n')
  expect(splitText(log, false).length).toBeGreaterThan(4)
  const endless = splitText('x'.repeat(50_000), false)
  expect(endless.map((part) => part.text).join('')).toBe('x'.repeat(50_000))
  expect(endless.length).toBe(7)
})

test('short texts and folded ones stay whole', () => {
  const card = { kind: 'text', at: 1, text: paragraph } as const
  expect(partsOfCard(card)).toEqual([{ card }])
  const thought = { ...card, kind: 'thinking', text: paragraph.repeat(20) } as const
  expect(partsOfCard(thought)).toEqual([{ card: thought }])
})
