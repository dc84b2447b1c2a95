import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import type { SearchAnswer, SearchFilter, SearchHit } from '../domain/search.ts'
import { indexSources } from './index-files.ts'
import { search, type RankedAnswer } from './ranked-search.ts'
import { SearchIndex } from './search-index.ts'
import { SearchThreads } from './search-threads.ts'
import { ToolSearch } from './tool-search.ts'

let folder: string
let index: SearchIndex
const plain = (text: string): string => text
const now = Date.parse('2026-11-18T12:00:00Z')

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-tool-search-'))
  index = SearchIndex.open(join(folder, 'search.sqlite'))
  const texts = ['the knot wades here', 'knot and a dunlin', 'knot dunlin sanderling too']
  const sources = texts.map((text, i) => ({
    kind: 'native' as const,
    path: session(`s${i}`, text, i),
    sessionId: `s${i}`,
  }))
  await indexSources(index, sources, { redact: plain })
})
afterEach(async () => {
  await index.close()
  rmSync(folder, { recursive: true })
})

/** Says hello, then a tool says the text; changed on the 10th of May and later. */
function session(name: string, text: string, day: number): string {
  const path = join(folder, `${name}.jsonl`)
  const changed = new Date(Date.parse('2026-05-10T12:00:00Z') + day * 86_400_000)
  const contents = ['hello there', [{ type: 'tool_result', tool_use_id: 't', content: text }]]
  const lines = contents.map((content) =>
    JSON.stringify({ type: 'user', timestamp: changed.toISOString(), message: { role: 'user', content } }),
  )
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  utimesSync(path, changed, changed)
  return path
}

async function find(
  text: string,
  options: { filter?: SearchFilter; limitMs?: number; isRegex?: boolean; indexed?: RankedAnswer } = {},
): Promise<SearchAnswer> {
  const { filter = {}, limitMs = 5_000, isRegex = false } = options
  const threads = new SearchThreads({ indexFile: join(folder, 'search.sqlite'), secrets: [] }, limitMs)
  try {
    const lookup = new ToolSearch(threads, systemClock, limitMs).begin(index, filter)
    await lookup.findFileSessions()
    const indexed =
      options.indexed ?? (await search({ index, redact: plain, now: () => now }, text, lookup.filter))
    return await lookup.addTo(indexed, { text, isRegex }, now)
  } finally {
    await threads.endIdle()
  }
}

const back =
  'Looked through tool inputs and results back to 12 May 2026; add --since or --repo to narrow the search.'

test('when the time is over, a note says how far the search came', async () => {
  expect(await find('knot', { limitMs: 0.001 })).toMatchObject({ total: 0, notes: [back] })
  expect(await find('kn[o]t', { limitMs: 0.001, isRegex: true })).toMatchObject({ total: 0, notes: [back] })
  expect(await find('hello', { limitMs: 0.001, filter: { file: 'knot' } })).toMatchObject({ notes: [back] })
  expect(await find('knot')).toMatchObject({ total: 3, notes: [] })
})

test('texts with more of the words come first, then newer ones', async () => {
  const found = async (text: string): Promise<string[]> =>
    (await find(text)).hits.map(({ sessionId }) => sessionId)
  expect(await found('knot')).toEqual(['s2', 's1', 's0'])
  expect(await found('dunlin knot')).toEqual(['s2', 's1'])
  expect((await found('when did the knot and the dunlin meet a sanderling'))[0]).toBe('s2')
})

test('tool texts come after messages that have the words, and before those that only resemble the question', async () => {
  const hit = (sessionId: string, score: number, by: SearchHit['by'][number]): SearchHit => ({
    sessionId,
    score,
    by: [by],
    source: 'native',
    path: '',
    role: 'user',
    line: 1,
    at: 0,
    snippet: sessionId,
    matches: [],
  })
  const hits = [hit('near', 9, 'meaning'), hit('said', 0.01, 'words')]
  const indexed = { total: 2, hits, notes: [] }
  const orders = [
    { filter: { role: 'tool' as const }, lack: undefined, order: ['said', 's2', 's1', 's0', 'near'] },
    // No message has all of the words.
    { filter: {}, lack: 'some' as const, order: ['s2', 's1', 's0', 'said', 'near'] },
  ]
  for (const { filter, lack, order } of orders) {
    const answer = await find('knot', { filter, indexed: { ...indexed, lack } })
    expect(answer.hits.map(({ sessionId }) => sessionId)).toEqual(order)
    expect(answer.hits.map(({ score }) => score)).toEqual(
      answer.hits.map(({ score }) => score).sort((a, b) => b - a),
    )
    expect(answer.total).toBe(5)
  }
  const limited = await find('knot', { filter: { role: 'tool', limit: 2 }, indexed })
  expect(limited.hits.map(({ sessionId }) => sessionId)).toEqual(['said', 's2'])
})

test('when messages have some of the words of a sentence, a note says how tool texts are searched', async () => {
  const answer = await find('why did the knot say hello to the sanderling')
  expect([...new Set(answer.hits.map(({ role }) => role))]).toEqual(['user'])
  expect(answer.notes).toContain('Not all tool inputs and results were searched; --role tool searches them.')
  expect((await find('knot', { filter: { withoutTools: true } })).notes).toEqual([])
})
