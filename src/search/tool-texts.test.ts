import { appendFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { randomFrom } from '../../test/support/random.ts'
import type { SearchSource } from '../domain/search.ts'
import { indexSources } from './index-files.ts'
import { addSomePieces } from './index-tiers.ts'
import { search } from './ranked-search.ts'
import { SearchIndex } from './search-index.ts'
import { isFull, ToolTexts, type IndexLimit } from './tool-texts.ts'

let folder: string
let index: SearchIndex
const plain = (text: string): string => text

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-tools-'))
  index = SearchIndex.open(join(folder, 'search.sqlite'))
})
afterEach(async () => {
  await index.close()
  rmSync(folder, { recursive: true })
})

const random = randomFrom(17)
/** So different that the words and substrings of each text take space. */
const noise = (): string =>
  Array.from({ length: 300 }, () => Math.floor(random() * 1e9).toString(36)).join(' ')

function lineOf(content: unknown): string {
  return `${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`
}

function toolLines(name: string): string {
  const results = Array.from({ length: 10 }, (_, i) => `tool${name} ${i} ${noise()}`)
  return results
    .map((content) => lineOf([{ type: 'tool_result', content: [{ type: 'text', text: content }] }]))
    .join('')
}

/** A session with a message and ten results of tools, changed in this minute. */
function session(name: string, minute: number): SearchSource {
  const path = join(folder, `${name}.jsonl`)
  writeFileSync(path, lineOf(`asked${name}`) + toolLines(name))
  utimesSync(path, minute * 60, minute * 60)
  return { kind: 'native', path, sessionId: name }
}

async function addAll(limit: IndexLimit): Promise<void> {
  const tools = new ToolTexts(index, plain, limit)
  tools.reload()
  while (await tools.addSome());
  while (await addSomePieces(index, plain));
}

async function findsTools(name: string): Promise<boolean> {
  return (await search({ index, redact: plain, now: () => 0 }, `tool${name}`, {})).total > 0
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

test('tool texts are indexed from the newest file on until the index is full, messages in any case', async () => {
  const sources = names.map((name, i) => session(name, i + 1))
  await indexSources(index, sources, { redact: plain })
  const limit = { share: 0, leastBytes: index.bytes().used + 150_000 }
  await addAll(limit)
  expect(isFull(index, limit)).toBe(true)
  const left = index.withoutTools().map(({ source }) => source.sessionId)
  expect(left.length).toBeGreaterThan(1)
  expect(left).toEqual(names.slice(0, left.length).reverse())
  for (const name of names) {
    expect([name, await findsTools(name)]).toEqual([name, !left.includes(name)])
    const { total } = await search({ index, redact: plain, now: () => 0 }, `asked${name}`, {})
    expect(total).toBe(1)
  }
  await addAll({ share: 1, leastBytes: 1e9 })
  expect(index.withoutTools()).toEqual([])
})

test('a share of the transcripts is as good as a number of bytes', async () => {
  await indexSources(index, [session('a', 1)], { redact: plain })
  const { used, indexed } = index.bytes()
  expect(isFull(index, { share: (2 * used) / indexed, leastBytes: 0 })).toBe(false)
  expect(isFull(index, { share: used / indexed, leastBytes: 0 })).toBe(true)
})

test('when the index is full, the tool texts of the oldest files make room for new ones', async () => {
  const sources = names.map((name, i) => session(name, i + 1))
  await indexSources(index, sources, { redact: plain })
  await addAll({ share: 1, leastBytes: 1e9 })
  const full = { share: 0, leastBytes: 0 }
  await indexSources(index, [...sources, session('new', 100)], { redact: plain })
  await addAll(full)
  expect(await findsTools('new')).toBe(true)
  expect(await findsTools('a')).toBe(false)
  expect(await findsTools('h')).toBe(true)
  // An old session that is continued is new.
  appendFileSync(sources[1]!.path, toolLines('later'))
  await indexSources(index, [...sources, session('new', 100)], { redact: plain })
  await addAll(full)
  expect(await findsTools('later')).toBe(true)
  expect(await findsTools('h')).toBe(true)
  // What has left is not read again in place of something newer.
  const left = index.withoutTools().map(({ source }) => source.sessionId)
  await addAll(full)
  expect(index.withoutTools().map(({ source }) => source.sessionId)).toEqual(left)
})

test('substrings of deleted files are found no more, and all are made again when there are many', async () => {
  const sources = names.map((name, i) => session(name, i + 1))
  await indexSources(index, sources, { redact: plain })
  await addAll({ share: 1, leastBytes: 1e9 })
  const found = async (part: string): Promise<number> =>
    (await search({ index, redact: plain, now: () => 0 }, part, {})).total
  expect(await found('skeda')).toBe(1)
  await index.remove([sources[0]!.path])
  expect(await found('skeda')).toBe(0)
  expect(await found('skedb')).toBe(1)
  await index.backlog.tidyPieces()
  expect(index.counts().withPieces).toBe(index.counts().passages)
  using db = new DatabaseSync(join(folder, 'search.sqlite'))
  db.exec('BEGIN')
  for (let id = 1e6; id < 1e6 + 12_000; id++)
    db.prepare('INSERT INTO pieces (rowid, text) VALUES (?, ?)').run(id, 'gone')
  db.exec('COMMIT')
  await index.backlog.tidyPieces()
  expect(index.counts().withPieces).toBe(0)
  while (await addSomePieces(index, plain));
  expect(await found('skedb')).toBe(1)
})
