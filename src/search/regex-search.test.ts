import { expect, test } from 'vitest'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomFrom } from '../../test/support/random.ts'
import { indexSources } from './index-files.ts'
import { addSomePieces } from './index-tiers.ts'
import { BriefRegexSearch, searchRegex } from './regex-search.ts'
import { SearchIndex } from './search-index.ts'

test('a search without a thread finds what a moment is enough for, and gives up an expression that never ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-brief-'))
  const path = join(folder, 'session.jsonl')
  const said = [`${'a'.repeat(60)}!`, 'the gannet dives', 'feed the gannet']
  const lineOf = (content: string): object => ({ type: 'user', message: { role: 'user', content } })
  writeFileSync(path, said.map((content) => `${JSON.stringify(lineOf(content))}\n`).join(''))
  const index = SearchIndex.open(':memory:')
  const plain = (text: string): string => text
  await indexSources(index, [{ kind: 'native', path, sessionId: 's' }], { redact: plain })
  const brief = new BriefRegexSearch()
  const found = (pattern: string) => brief.search(index, { pattern, filter: {} }, plain)
  expect(found('^(a+)+$')).toBeUndefined()
  // On a busy machine the moment may be over before anything was read.
  await expect
    .poll(() => found('GAN+et')?.hits.map(({ snippet }) => snippet))
    .toEqual(['feed the gannet', 'the gannet dives'])
  // Long texts are tried under a time limit, short ones without; the order stays.
  const long = `a gannet ${'x '.repeat(5_000)}`
  const more = [long, 'gannets!', `${long}y`, 'no bird', 'one gannet']
  appendFileSync(path, more.map((content) => `${JSON.stringify(lineOf(content))}\n`).join(''))
  await indexSources(index, [{ kind: 'native', path, sessionId: 's' }], { redact: plain })
  await expect
    .poll(() => found('gan\\w+t|no fish')?.hits.map(({ snippet }) => snippet.slice(0, 8).trim()))
    .toEqual(['one gann', 'a gannet', 'gannets!', 'a gannet', 'feed the', 'the gann'])
  await index.close()
  rmSync(folder, { recursive: true })
})

const random = randomFrom(11)
const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!

const vocabulary =
  'the parser Parser reads TOKEN token-twice größer GRÖSSER été E\u0301te\u0301 naïve ſilo \u212aelvin ΣΟΦΟΣ ςσΣ Привет 海鳥が飛ぶ foo_bar src/a.ts 42 4242 a+b (x) [y] aaab'.split(
    ' ',
  )

/** An expression that is often valid, and sometimes matches. */
function randomPattern(depth = 0): string {
  const letters = (): string => {
    const word = Array.from(oneOf(vocabulary))
    const from = Math.floor(random() * word.length)
    const part = word.slice(from, from + 1 + Math.floor(random() * 6)).join('')
    return part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  }
  const inner = (): string => (depth > 2 ? letters() : randomPattern(depth + 1))
  const atoms = [
    letters,
    letters,
    letters,
    () => `${letters()} ${letters()}`,
    () => ` ${oneOf(['the', 'parser', 'the parser', 'reads token-twice', 'silo', 'kelvin'])} ${letters()}`,
    () =>
      oneOf([
        '.',
        '\\w',
        '\\d',
        '\\s',
        '[a-z]',
        '[^k]',
        '\\p{Lu}',
        '[Tt]',
        '\\u{e9}',
        '\\x73',
        '\\u006b',
        '\\n',
      ]),
    () => oneOf(['^', '$', '\\b', '\\B']),
    () =>
      `${oneOf(['(', '(?:', '(?=', '(?!', '(?<=', '(?<!', '(?<n>', '(?-i:'])}${inner()}${random() < 0.5 ? `|${inner()}` : ''})`,
    () => inner(),
  ]
  const parts = Array.from(
    { length: 1 + Math.floor(random() * 3) },
    () => oneOf(atoms)() + (random() < 0.3 ? oneOf(['*', '+', '?', '{2}', '{0,2}', '{1,}', '+?', '??']) : ''),
  )
  return random() < 0.1 ? `${parts.join('')}|${letters()}` : parts.join('')
}

function isValid(pattern: string): boolean {
  try {
    return Boolean(new RegExp(pattern, 'iu'))
  } catch {
    return false
  }
}

test('an expression finds what trying every passage, the newest first, would find', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-regex-'))
  const index = SearchIndex.open(':memory:')
  const plain = (text: string): string => text
  const start = Date.UTC(2026, 0, 1)
  const said = Array.from({ length: 400 }, (_, i) => ({
    text: `${Array.from({ length: 1 + Math.floor(random() * 6) }, () => oneOf(vocabulary)).join(oneOf([' ', ' ', '\n']))} ${i}`,
    at: start + Math.floor(random() * 1e9),
  }))
  const files = Map.groupBy(said.keys(), (i) => join(folder, `${i % 5}.jsonl`))
  for (const [path, lines] of files) {
    const records = lines.map((i) => {
      const { text: content, at } = said[i]!
      return { type: 'user', message: { role: 'user', content }, timestamp: new Date(at).toISOString() }
    })
    writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  }
  const sources = [...files.keys()].map((path) => ({ kind: 'native' as const, path, sessionId: path }))
  await indexSources(index, sources, { redact: plain })
  const newestFirst = said.toSorted((a, b) => b.at - a.at).map(({ text }) => text)
  const search = (pattern: string, limit: number): string[] => {
    const regex = new RegExp(pattern, 'iu')
    const matchesOf = (texts: string[]) => texts.map((text) => regex.exec(text))
    const found = [...searchRegex(index, { pattern, filter: { limit } }, plain, matchesOf)]
    return found.flatMap(({ hits }) => hits).map(({ at }) => said.find((each) => each.at === at)!.text)
  }
  const patterns = Array.from({ length: 1_000 }, () => randomPattern()).filter(isValid)
  expect(patterns.length).toBeGreaterThan(500)
  let found = 0
  for (const [i, pattern] of patterns.entries()) {
    // Substrings are indexed by and by.
    if (i % 150 === 75) await addSomePieces(index, plain, 100)
    const regex = new RegExp(pattern, 'iu')
    const expected = newestFirst.filter((text) => regex.test(text)).slice(0, i % 3 === 0 ? 60 : 5)
    found += expected.length > 0 ? 1 : 0
    expect([pattern, search(pattern, i % 3 === 0 ? 60 : 5)]).toEqual([pattern, expected])
  }
  expect(found).toBeGreaterThan(150)
  await index.close()
  rmSync(folder, { recursive: true })
})
