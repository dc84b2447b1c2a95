import { expect, test } from 'vitest'
import { Database } from '../store/sqlite/database.ts'
import { isComparable, lettersNeededBy, mostStepsOf, type NeededLetters } from './regex-letters.ts'
import { pieceTokenizer } from './word-lists.ts'

function written(needed: NeededLetters | undefined): string {
  if (needed === undefined) return 'nothing'
  if ('letters' in needed) return JSON.stringify(needed.letters)
  const [parts, between] = 'any' in needed ? [needed.any, ' or '] : [needed.all, ' and ']
  return `(${parts.map(written).join(between)})`
}

test.each([
  ['TODO\\(\\w+\\)', '"TODO("'],
  ['pars\\w+ reads', '("pars" and " reads")'],
  ['(token|branch) names?', '(("token" or "branch") and " name")'],
  ['(?:token|\\w+) names', '" names"'],
  ['cats|dogs', '("cats" or "dogs")'],
  ['cats|\\d', 'nothing'],
  ['cats|', 'nothing'],
  ['colou?r of', '("colo" and "r of")'],
  ['ab+cde', '"bcde"'],
  ['abc+def', '("abc" and "cdef")'],
  ['x{0,2}long{2}er', '("long" and "ger")'],
  ['[abc]def[^\\]ghi]', '"def"'],
  ['\\p{Lu}nder', '"nder"'],
  ['a\\u{1F600}bcd', '"bcd"'],
  ['\\u0061b\\x63', '"abc"'],
  ['(?<=price: )\\d+ USD', '("price: " and " USD")'],
  ['(?!abc)def', '"def"'],
  ['(?<!abc)(?<name>def)\\k<name>', '"def"'],
  ['abc(?:def)?', '"abc"'],
  ['abc(?:def)+', '("def" and "abc")'],
  ['^fix\\b #12$', '"fix #12"'],
  ['src/[a-z]+\\.ts', '("src/" and ".ts")'],
  ['größer', '"größer"'],
  // The index and a regular expression do not agree on the upper case of some of these.
  ['привет', 'nothing'],
  ['a.c', 'nothing'],
  ['^(a+)+$', 'nothing'],
  [`${'('.repeat(60)}abc${')'.repeat(60)}`, 'nothing'],
])('every match of %s has %s', (pattern, needed) => {
  expect(written(lettersNeededBy(pattern))).toBe(needed)
})

test('the index of substrings does not tell letters apart that an expression takes for the same', async () => {
  const db = Database.open(':memory:', [
    `CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize="${pieceTokenizer}");
     CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, row);`,
  ])
  const tokenOf = (character: string): string => {
    db.queries.run('INSERT INTO texts (rowid, text) VALUES (1, ?)', character.repeat(3))
    const tokens = db.queries.all<{ term: string }>('SELECT term FROM tokens')
    db.queries.run(`INSERT INTO texts (texts) VALUES ('delete-all')`)
    return tokens.map(({ term }) => term).join(' ')
  }
  const all = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code)).filter(
    (character) => character.isWellFormed() && character.toLowerCase() !== character.toUpperCase(),
  )
  const cased = all.filter(isComparable)
  expect(cased.length).toBeGreaterThan(300)
  const text = all.join('')
  for (const character of cased) {
    const same = text.match(new RegExp(character, 'giu')) ?? []
    expect([character, ...same.map(tokenOf)]).toEqual([character, ...same.map(() => tokenOf(character))])
    expect(Array.from(tokenOf(character))).toHaveLength(3)
  }
  // The others have no upper case, and are not skipped.
  for (const character of ['\t', '\n', ' ', '~', '\xa0', '\xad', 'あ', 'ア', 'ー', '海', '가'])
    expect([character, tokenOf(character)]).toEqual([character, character.repeat(3)])
  await db.close()
})

test.each([
  ['pars\\w+ reads', 100, 1e6],
  ['(token|branch) names?', 2_000, 1e6],
  ['^\\d{4}-\\d{2}', 10_000, 1e6],
  ['(?:ab)+c', 100, 1e6],
  ['(?=.*a)b{2,5}', 100, 1e6],
])('%s takes few steps on %d characters', (pattern, length, most) => {
  expect(mostStepsOf(pattern)(length)).toBeLessThan(most)
})

// The first ones take exponentially long on a text that nearly matches, the others a high power of its length.
test.each([
  '^(a+)+$',
  '(a|aa)+$',
  '(?:a?){30}a{30}',
  '(?:(?:a*){3})*b',
  '(a*)\\1b',
  '(?<n>a*)\\k<n>b',
  '(?:(?:a|b)+,)*c',
  'a*a*a*a*b',
  '.*.*.*=.*',
  '(?:(?:^){999}){999}',
  `${'('.repeat(60)}a*${')'.repeat(60)}`,
])('%s may take long', (pattern) => {
  expect(mostStepsOf(pattern)(1_000)).toBeGreaterThan(1e8)
})
