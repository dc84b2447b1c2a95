import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SearchFilter } from '../domain/search.ts'
import { SearchIndex } from './search-index.ts'
import type { Addition } from './search-index.ts'
import type { WordExpression } from './word-lists.ts'

let index: SearchIndex
const day = 86_400_000

/** More passages than a word may have to be weighed: every one has "tide", most have "harbour", the first one "heron". */
beforeAll(async () => {
  index = SearchIndex.open(':memory:')
  await index.add([
    chat(
      'old',
      ['main'],
      [
        ['tide and heron, heron, heron', 1 * day],
        ['the tide and one heron among many other words', 2 * day],
      ],
    ),
    chat(
      'many',
      ['support'],
      Array.from({ length: 20_500 }, (_, i) => [`tide at the harbour ${i}`, 3 * day]),
    ),
    chat('new', ['main'], [['tide again', 9 * day]]),
  ])
})
afterAll(() => index.close())

function chat(name: string, agentIds: string[], said: Array<[text: string, at: number]>): Addition {
  const state = { inode: name, size: 1, mtimeMs: 0, readBytes: 1, readLines: 1, toolsBytes: 0, toolsLines: 0 }
  return {
    source: { kind: 'rockpool', path: `/${name}`, sessionId: name, agentIds, repoPath: `/repo/${name}` },
    from: undefined,
    state,
    passages: said.map(([text, at], i) => ({ text, line: i + 1, offset: 0, length: 1, role: 'user', at })),
  }
}

function found(terms: string[], filter: SearchFilter = {}): string[] {
  const { passages } = index.matchWords(terms.map(expressionOf), filter)
  return passages.map(({ source, line }) => `${source.sessionId} ${line}`)
}

function expressionOf(term: string): WordExpression {
  return { words: term.replace('*', ''), isPrefix: term.endsWith('*') }
}

test('a rare word is found in the oldest passage, with a common word beside it or instead of it', () => {
  expect(found(['tide', 'heron'])).toEqual(['old 2', 'old 1'])
  expect(found(['tide and heron'])).toEqual(['old 1'])
  expect(found(['tid*', 'her*'])).toEqual(['old 2', 'old 1'])
})

test('a passage has a share of the weight for each word: a rare word weighs more, and a short passage counts more', () => {
  const { masks, shares, brevity } = index.matchWords(['tide', 'heron', 'nowhere'].map(expressionOf), {})
  expect(masks).toEqual([3, 3])
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1)
  expect(shares[0]).toBeLessThan(shares[1]! / 4)
  expect(brevity[0]).toBeLessThan(brevity[1]!)
})

test('what common words alone find comes newest first, with all of them before with some', () => {
  expect(found(['tide']).slice(0, 2)).toEqual(['new 1', 'many 20500'])
  expect(found(['tide', 'harbour'])[0]).toBe('many 20500')
  expect(found(['tide', 'nowhere'])[0]).toBe('new 1')
})

test('a filter lets the same through, whether it lets through little or much', () => {
  expect(found(['tide'], { agentId: 'main' })).toEqual(['new 1', 'old 2', 'old 1'])
  expect(found(['tide'], { agentId: 'support' })[0]).toBe('many 20500')
  expect(found(['tide'], { since: 4 * day })).toEqual(['new 1'])
  expect(found(['tide'], { until: 3 * day })).toEqual(['old 2', 'old 1'])
  expect(found(['tide'], { since: 2 * day, agentId: 'main' })).toEqual(['new 1', 'old 2'])
  expect(found(['tide'], { repoPaths: ['/repo/old', '/repo/ne'] })).toEqual(['old 2', 'old 1'])
  expect(found(['tide'], { repoPaths: [] })).toEqual([])
  expect(found(['tide'], { agentId: 'unknown' })).toEqual([])
  expect(found(['tide', 'heron'], { role: 'user' })).toEqual(['old 2', 'old 1'])
  expect(found(['tide'], { role: 'assistant' })).toEqual([])
  expect(found(['tide'], { file: 'heron' })).toEqual(['old 2', 'old 1'])
})

test('passages are found as soon as they are added, and no longer after they were deleted', async () => {
  const before = found(['tide', 'harbour'])
  await index.add([chat('late', ['main'], [['the tide at the harbour of the heron', 10 * day]])])
  expect(found(['tide', 'harbour'])[0]).toBe('late 1')
  expect(found(['tide', 'heron', 'harbour'])[0]).toBe('late 1')
  await index.remove(['/late'])
  expect(found(['tide', 'harbour'])).toEqual(before)
})

test('a role is known of passages that were added or removed after it was asked for', async () => {
  const roles = ['user', 'assistant', 'tool'] as const
  const other = SearchIndex.open(':memory:')
  const add = (name: string): Promise<void> => {
    const { passages, ...rest } = chat(
      name,
      ['main'],
      roles.map((role) => [`the ebb of ${role}`, day]),
    )
    return other.add([{ ...rest, passages: passages.map((each, i) => ({ ...each, role: roles[i]! })) }])
  }
  const found = (filter: SearchFilter): string[] => {
    const { passages } = other.matchWords([expressionOf('ebb')], filter)
    return passages.map(({ source, role }) => `${source.sessionId} ${role}`)
  }
  await add('one')
  expect(found({ role: 'user' })).toEqual(['one user'])
  expect(found({ role: 'memory' })).toEqual([])
  await add('two')
  expect(found({ role: 'user' })).toEqual(['two user', 'one user'])
  expect(found({ role: 'tool', withoutTools: true })).toEqual([])
  expect(found({ withoutTools: true })).toEqual(['two assistant', 'two user', 'one assistant', 'one user'])
  await other.remove(['/two'])
  await add('three')
  expect(found({ role: 'assistant', channel: 'web' })).toEqual([])
  expect(found({ role: 'assistant' })).toEqual(['three assistant', 'one assistant'])
  await other.close()
})
