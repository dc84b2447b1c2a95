import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SearchFilter } from '../domain/search.ts'
import { indexSources } from './index-files.ts'
import { SearchIndex } from './search-index.ts'
import { checkPattern, IndexThread, SearchThreads } from './search-threads.ts'
import { indexLimit } from './tool-texts.ts'

let folder: string
let threads: SearchThreads
const plain = (text: string): string => text

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-regex-'))
  const path = join(folder, 'session.jsonl')
  const said = [`${'a'.repeat(60)}!`, 'a later line', 'the gannet dives', 'TODO(ada): feed the gannet']
  writeFileSync(path, said.map(lineOf).join(''))
  const indexFile = join(folder, 'search.sqlite')
  const index = SearchIndex.open(indexFile)
  await indexSources(index, [{ kind: 'native', path, sessionId: 's' }], { redact: plain })
  // The last one has no pieces yet.
  const [, ...others] = index.backlog.newest('pieces', 10)
  await index.backlog.addPieces(others.map(({ id }, i) => ({ id, text: said[2 - i]! })))
  await index.close()
  threads = new SearchThreads({ indexFile, secrets: [] }, 100)
})
afterAll(async () => {
  await threads.endIdle()
  rmSync(folder, { recursive: true })
})

function lineOf(content: string): string {
  return `${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`
}

async function found(pattern: string, filter: SearchFilter = {}): Promise<string[]> {
  const { hits, notes } = await threads.matches(pattern, filter)
  return [...hits.map(({ snippet }) => snippet), ...notes]
}

test('a regular expression that never ends is stopped and says so, and the next one is answered', async () => {
  expect(await found('^(a+)+$|later')).toEqual([
    'a later line',
    'Stopped after 0.1 s: 3 passages were searched, the newest first.',
  ])
  expect(await found('later')).toEqual(['a later line'])
  expect(() => checkPattern('(')).toThrow('Invalid regular expression')
})

test('a regular expression finds what has its letters, and what has no letters indexed yet', async () => {
  expect(await found('\\bgannet\\b')).toEqual(['TODO(ada): feed the gannet', 'the gannet dives'])
  expect(await found('GAN+et( dives)?$', { limit: 1 })).toEqual(['TODO(ada): feed the gannet'])
  expect(await found('todo\\(\\w+\\)')).toEqual(['TODO(ada): feed the gannet'])
  expect(await found('puffin')).toEqual([])
})

test('many regular expressions at once have two threads, and are all answered', async () => {
  await threads.endIdle()
  const count = (): number => readdirSync('/proc/self/task').length
  const before = count()
  let most = 0
  const watching = setInterval(() => (most = Math.max(most, count())), 5)
  try {
    const answers = await Promise.all(Array.from({ length: 4 }, () => found('^(a+)+$')))
    for (const notes of answers) expect(notes).toEqual([expect.stringMatching(/^Stopped after 0.1 s/)])
  } finally {
    clearInterval(watching)
  }
  // A thread that was ended may still be there while the next one starts.
  expect(most - before).toBeLessThanOrEqual(4)
})

test('after its end nothing starts the thread again', async () => {
  const job = {
    job: 'index' as const,
    indexFile: '/nowhere',
    secrets: [],
    meaning: { use: 'none' as const },
    limit: indexLimit(0.05),
  }
  const thread = new IndexThread(
    job,
    () => undefined,
    () => undefined,
  )
  await thread.stop()
  // A listing of files may still run: a thread started now would keep the process alive for ever.
  await expect(thread.read([], true)).rejects.toThrow('stopped')
})
