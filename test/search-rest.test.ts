// What search holds in memory is unloaded when it is idle: the thread that indexes.
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { IndexThread } from '../src/search/search-threads.ts'
import { indexLimit } from '../src/search/tool-texts.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-rest-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

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
  const job = {
    job: 'index' as const,
    indexFile,
    secrets: [],
    meaning: { use: 'none' as const },
    limit: indexLimit(0.05),
  }
  const nothing = (): void => undefined
  const thread = new IndexThread(job, nothing, nothing, { lingerMs: 50 })
  for (const round of ['first', 'next']) {
    await thread.read([source], true)
    expect(isOpen(), round).toBe(true)
    await expect.poll(isOpen, { timeout: 20_000 }).toBe(false)
  }
  await thread.stop()
})
