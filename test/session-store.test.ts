// The stores that keep their rows on this machine's disk, held to the contract.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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

test('the stored number of sessions follows every change, and is counted again if a byte of it changed (sqlite)', async () => {
  const store = openIn('sqlite').open('main')
  const totals = async (): Promise<number[]> =>
    Promise.all([false, true].map(async (archived) => (await store.list({ archived, limit: 1 })).total))
  for (const n of [1, 2, 3, 4]) await store.update(`k${n}`, () => anEntry(`s${n}`, n))
  await store.update('k1', (entry) => ({ ...entry!, archivedAt: 5 }))
  await store.update('k2', (entry) => ({ ...entry!, updatedAt: 9 }))
  await store.delete('k3')
  await store.move('k4', 'k5')
  expect(await totals()).toEqual([2, 1])
  await store.update('k1', (entry) => ({ ...entry!, archivedAt: undefined }))
  expect(await totals()).toEqual([3, 0])
  const raw = new DatabaseSync(statePaths(folders.at(-1)!).sessionDatabase('main'))
  expect(raw.prepare('SELECT n FROM session_count ORDER BY archived').all()).toEqual([{ n: 3 }, { n: 0 }])
  raw.exec('UPDATE session_count SET n = 77 WHERE archived = 0')
  raw.close()
  expect(await totals()).toEqual([3, 0])
})

test('a page is listed again after every change, also of another process, and belongs to its caller (sqlite)', async () => {
  const stores = openIn('sqlite')
  const [store, other] = [stores.open('main'), stores.open('main')]
  const labels = async () =>
    (await store.list({ limit: 5 })).sessions.map(({ key, entry }) => [key, entry.label])
  await store.update('a', () => anEntry('s1', 1))
  const { sessions } = await store.list({ limit: 5 })
  sessions[0]!.entry.label = 'only mine'
  expect(await labels()).toEqual([['a', undefined]])
  await other.update('a', (entry) => ({ ...entry!, label: 'theirs' }))
  expect(await labels()).toEqual([['a', 'theirs']])
  await other.delete('a')
  expect(await labels()).toEqual([])
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
