// The stores that keep their rows on this machine's disk, held to the contract.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { configSchema } from '../src/domain/config.ts'
import { statePaths } from '../src/store/paths.ts'
import type { SessionStore } from '../src/store/session-store.ts'
import { openSessionStore } from '../src/store/open.ts'
import { anEntry, sessionStoreContract } from './support/session-store-contract.ts'
import type { StoreUnderTest } from './support/session-store-contract.ts'

const opened: SessionStore[] = []
const folders: string[] = []

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

for (const kind of ['sqlite', 'files'] as const) sessionStoreContract(kind, async () => openIn(kind))

test.each(['sqlite', 'files'] as const)('a purged row leaves no trace in any file (%s)', async (kind) => {
  const store = openIn(kind).open('main')
  const folder = statePaths(folders.at(-1)!).sessions('main')
  const named = (): string[] =>
    readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes('xylophonist'))
  await store.update('kept', () => anEntry('b', 1))
  await store.update('gone', () => anEntry('a', 1, { label: 'xylophonist' }))
  // In file mode this makes a copy of what was.
  await store.update('kept', () => anEntry('b', 2))
  expect(named()).not.toEqual([])
  await store.purge('gone')
  expect(named()).toEqual([])
  expect((await store.list()).sessions.map(({ key }) => key)).toEqual(['kept'])
})

function openIn(kind: 'sqlite' | 'files'): StoreUnderTest {
  const root = mkdtempSync(join(tmpdir(), 'rockpool-'))
  folders.push(root)
  const parts = {
    config: configSchema.parse({ store: kind }),
    paths: statePaths(root),
    clock: systemClock,
    log: silentLog,
  }
  return {
    open(agentId) {
      const store = openSessionStore(agentId, parts)
      opened.push(store)
      return store
    },
  }
}
