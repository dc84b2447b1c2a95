import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import {
  ago,
  bytes,
  cellWidth,
  duration,
  oneLine,
  pairs,
  styled,
  table,
  tokens,
  truncate,
  usd,
  visible,
  wrapped,
} from './print.ts'

const page = { width: 40, color: false, now: 1_000_000_000 }

test.each([
  ['abc', 3],
  ['漢字', 4],
  ['e\u0301', 1],
  ['👩‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['❤️', 2],
  ['1️⃣', 2],
  ['한국', 4],
  ['\u200b', 0],
  ['', 0],
])('%j takes %i cells', (text, width) => {
  expect(cellWidth(text)).toBe(width)
})

test('a text is cut between characters, never inside one', () => {
  expect(truncate('漢字漢字', 5)).toBe('漢字…')
  expect(truncate('👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…')
  expect(truncate('short', 5)).toBe('short')
})

test('a table fits the page, whatever is in it', () => {
  const rows = [
    { name: 'a'.repeat(100), note: '漢'.repeat(50) },
    { name: 'b', note: 'line\nbreak\ttab' },
  ]
  const text = table(page, rows, { NAME: (r) => r.name, NOTE: (r) => r.note })
  for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(40)
  expect(text.split('\n')).toHaveLength(3)
  expect(text).toContain('line break tab')
})

test('what could drive a terminal is shown as its code', () => {
  expect(visible('\u001b[2J\u0007\u009b\u202e\u{e0041}\ud800x')).toBe(
    '\\x1b[2J\\x07\\x9b\\u202e\\u{e0041}\\ud800x',
  )
  expect(visible('a\tb\r\nc\rd')).toBe('a\tb\nc\\x0dd')
  expect(oneLine(' a\n\n b ')).toBe('a b')
})

test('ages, sizes and amounts are for people', () => {
  expect([
    ago(page.now - 90_000, page.now),
    ago(page.now + 3_600_000, page.now),
    ago(page.now, page.now),
    ago(undefined, 0),
  ]).toEqual(['1 min ago', 'in 1 h', 'now', '-'])
  expect([duration(500), duration(86_400_000 * 3)]).toEqual(['500 ms', '3 d'])
  expect([tokens(999), tokens(1500), tokens(58_000), tokens(2_500_000), tokens(undefined)]).toEqual([
    '999',
    '1.5k',
    '58k',
    '2.5M',
    '-',
  ])
  expect([usd(0), usd(0.0123), usd(12.345)]).toEqual(['$0.00', '$0.0123', '$12.35'])
  expect([bytes(10), bytes(1536), bytes(5 << 20)]).toEqual(['10 B', '1.5 KB', '5.0 MB'])
})

test.each([20, 40, 60])(
  'prose breaks between words at %i columns, also where it is painted; a file gets whole lines',
  (width) => {
    const page = { width, color: true, now: 0, interactive: true }
    const text = `${'some words and '.repeat(12)}${styled(page, 'yellow', 'a painted end')}`
    const lines = wrapped(text, page, 4).split('\n')
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines)
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(Math.max(24, width))
    expect(lines.map((line) => line.trim()).join(' ')).toBe(text)
    expect(wrapped(text, { ...page, interactive: false })).toBe(text)
  },
)

test('a person reads values that stand below each other; a program gets their lines whole', () => {
  const values = {
    head: 'a commit with a message that is longer than the page',
    worktrees: '/one\n/two',
  }
  expect(pairs({ ...page, interactive: true }, values)).toBe(
    'head       a commit with a message that\n           is longer than the page\nworktrees  /one\n           /two',
  )
  expect(pairs(page, values)).toContain('that is longer than the page\n')
})
