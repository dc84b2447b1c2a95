import { expect, test } from 'vitest'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { indexSources } from './index-files.ts'
import { BriefRegexSearch, literalIn } from './regex-search.ts'
import { SearchIndex } from './search-index.ts'

test.each([
  ['TODO\\(\\w+\\)', 'TODO('],
  ['pars\\w+ reads', ' reads'],
  ['(token|branch) names?', ' name'],
  ['colou?r of', 'colo'],
  ['ab+cde', 'cde'],
  ['x{0,2}long{2}er', 'lon'],
  ['[abc]def[^\\]ghi]', 'def'],
  ['\\p{Lu}nder', 'nder'],
  ['a\\u{1F600}bcd', 'bcd'],
  ['(?<=price: )\\d+ USD', ' USD'],
  ['abc(?:def)?', 'abc'],
  ['src/[a-z]+\\.ts', 'src/'],
  ['cats|dogs', undefined],
  ['(cats|dogs)', undefined],
  ['a.c', undefined],
  ['größer', undefined],
  ['^(a+)+$', undefined],
])('every match of %s has %s', (pattern, literal) => {
  expect(literalIn(pattern)).toBe(literal)
})

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
  await index.close()
  rmSync(folder, { recursive: true })
})
