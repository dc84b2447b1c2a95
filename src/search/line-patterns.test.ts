import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LinePatterns } from './line-patterns.ts'
import { parseQuery } from './query.ts'
import { lettersNeededBy } from './regex-letters.ts'
import { SearchIndex } from './search-index.ts'

let index: SearchIndex
beforeAll(() => {
  index = SearchIndex.open(':memory:')
})
afterAll(() => index.close())

const tokensOf = (words: string): string[] => index.tokensOf(words)

function has(patterns: LinePatterns, text: string): boolean {
  return patterns.in(Buffer.from(JSON.stringify(text))) === patterns.all
}

function asksFor(query: string): LinePatterns {
  const { terms } = parseQuery(query)!
  return LinePatterns.ofWords(
    terms.map(({ expression }) => expression),
    tokensOf,
  )
}

test('every word of our documents is found by each word with the same stem', () => {
  const folder = join(import.meta.dirname, '../../docs')
  const text = globSync('**/*.md', { cwd: folder })
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n')
  const words = new Set(text.toLowerCase().match(/[a-z]{2,}/g))
  const endings = [
    's',
    'ed',
    'ing',
    'ly',
    'ness',
    'ation',
    'ational',
    'ability',
    'ibility',
    'ivity',
    'ence',
    'ency',
  ]
  const forms = [...words].flatMap((word) => [
    word,
    ...endings.map((ending) => word.replace(/e$/, '') + ending),
  ])
  expect(forms.length).toBeGreaterThan(10_000)
  const tokens = tokensOf(forms.join(' '))
  expect(tokens.length).toBe(forms.length)
  const byStem = Map.groupBy(forms, (_, at) => tokens[at]!)
  const missed = [...byStem].flatMap(([stem, same]) => {
    const patterns = LinePatterns.ofWords([{ token: stem }], tokensOf)
    return same.filter((word) => !has(patterns, word)).map((word) => `${stem}: ${word}`)
  })
  expect(missed).toEqual([])
})

test.each([
  ['retries', 'we RETRY it', 'return'],
  ['"two words"', 'two\n\n  words', 'words two'],
  ['src/search/a.ts', 'in src/search/a.ts:12', 'in src/search/b.ts'],
  ['retr*', 'retrying', 'reading'],
  ['parseJsonlHeader', 'parse jsonl header', 'parse header'],
  ['größer', 'GRÖSSER größer', 'grosser'],
  ['élan', 'elan', 'clan'],
  ['élan', 'E\u0301LAN', 'clan'],
  ['Чайка', 'ЧАЙКА', 'чашка'],
  ['メモリ', 'メモリの原因', '原因'],
  ['データ', 'このデータは', 'メモリ'],
])('%s may be in %s, but not in %s', (query, right, wrong) => {
  expect([has(asksFor(query), right), has(asksFor(query), wrong)]).toEqual([true, false])
})

test('letters that JSON escapes are found too, and an expression needs its longest letters', () => {
  const escaped = Buffer.from('{"text":"stra\\u00dfe"}')
  const patterns = asksFor('Straße')
  expect(patterns.in(escaped)).toBe(patterns.all)
  const letters = LinePatterns.ofLetters(lettersNeededBy('(ENOSPC|EDQUOT): \\w+'))
  expect([has(letters, 'edquot: full'), has(letters, 'enoent: gone')]).toEqual([true, false])
  expect(LinePatterns.ofLetters(lettersNeededBy('\\d+')).all).toBe(0)
})
