// What search holds in memory is unloaded when it is idle: the model for meaning, and the thread that indexes.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import { IndexThread } from '../src/search/search-threads.ts'
import { wordVectorFile } from '../src/search/word-vectors.ts'
import { perform } from '../src/operations/all.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { makeMovableClock } from './support/movable-clock.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-rest-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const builtTable = join(import.meta.dirname, '../dist', wordVectorFile)

test('the model for meaning is unloaded after five minutes without a search', async (ctx) => {
  if (!existsSync(builtTable)) ctx.skip('no model for meaning was built here')
  const state = join(home, 'state')
  const table = join(state, 'index', wordVectorFile)
  mkdirSync(join(state, 'index'), { recursive: true, mode: 0o700 })
  copyFileSync(builtTable, table)
  const clock = makeMovableClock()
  const environment = readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: state })
  const app = await openApp(environment, { version: '0.0.0-test', clock })
  const message = { role: 'user' as const, content: 'the boat sails from the harbour', timestamp: 1 }
  await app.storage
    .sessions('main')
    .update('agent:main:x', () => ({ sessionId: 'boats', updatedAt: clock.now() }))
  await app.storage
    .transcripts('main')
    .append({ sessionId: 'boats' }, [{ type: 'message', message }], { cwd: '/' })
  const byMeaning = async (): Promise<number> => {
    const found = await perform(
      app,
      'sessions.search',
      { query: 'ship at sea' },
      { via: 'cli', scopes: ['admin'] },
    )
    return (found as { total: number }).total
  }
  expect(await byMeaning()).toBe(1)
  // Whoever reads the table again finds it empty.
  writeFileSync(table, Buffer.alloc(8))
  await clock.advance(4 * 60_000)
  expect(await byMeaning()).toBe(1)
  await clock.advance(5 * 60_000 + 1_000)
  expect(await byMeaning()).toBe(0)
  await app.close()
})

test('the thread that indexes ends when it has nothing to do, and comes back for the next file', async (ctx) => {
  if (!existsSync('/proc/self/fd')) ctx.skip('open files are read from /proc')
  const indexFile = join(home, 'search.sqlite')
  const isOpen = (): boolean =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(indexFile)
      } catch {
        // Closed between the two looks.
        return false
      }
    })
  const path = join(home, 'talk.jsonl')
  writeFileSync(path, `${JSON.stringify({ type: 'user', message: { role: 'user', content: 'a boat' } })}\n`)
  const source = { kind: 'native' as const, path, sessionId: 'talk' }
  const job = { job: 'index' as const, indexFile, secrets: [], meaning: { use: 'none' as const } }
  const nothing = (): void => undefined
  const thread = new IndexThread(job, nothing, nothing, { lingerMs: 50 })
  for (const round of ['first', 'next']) {
    await thread.read([source], true)
    expect(isOpen(), round).toBe(true)
    await expect.poll(isOpen, { timeout: 20_000 }).toBe(false)
  }
  await thread.stop()
})
