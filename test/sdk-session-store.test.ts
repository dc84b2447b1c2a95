// The rules of the Agent SDK's SessionStore, for both implementations.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresSessionStore, sqliteSessionStore } from '../src/sdk-session-store.ts'
import type { TestContext } from 'vitest'
import type { TestPostgres } from './support/postgres.ts'
import { startPostgres } from './support/postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-sdk-store-'))
let postgres: TestPostgres | undefined
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

type Store = ReturnType<typeof sqliteSessionStore>
let made = 0

const stores: Array<[string, (again?: number) => Store | undefined]> = [
  ['SQLite', (which) => sqliteSessionStore({ path: join(folder, `${which}.sqlite`) })],
  ['PostgreSQL', (which) => postgres && postgresSessionStore({ url: postgres.url, schema: `s"${which}` })],
]

function present(store: Store | undefined, ctx: TestContext): Store {
  return store ?? ctx.skip('PostgreSQL is not installed')
}

describe.each(stores)('in %s', (_name, openStore) => {
  const key = { projectKey: 'p', sessionId: 's' }

  test('entries come back deep-equal, in order, and again after reopening', async (ctx) => {
    const which = made++
    const store = present(openStore(which), ctx)
    const entries = [
      {
        type: 'user',
        uuid: 'a',
        text: 'ünï\u0000code 🦞',
        big: 12_345_678_901_234,
        small: 1e-7,
        nested: { b: 1, a: [null, true] },
      },
      { type: 'assistant', uuid: 'b', text: '' },
    ]
    expect(await store.load(key)).toBeNull()
    await store.append(key, entries)
    await store.append(key, [{ type: 'assistant', uuid: 'c' }])
    expect(await store.load(key)).toEqual([...entries, { type: 'assistant', uuid: 'c' }])
    await store.close()
    const again = openStore(which)!
    expect(await again.load(key)).toHaveLength(3)
    await again.close()
  })

  test('an entry that is delivered again is kept once; those without a uuid are kept as they come', async (ctx) => {
    const store = present(openStore(made++), ctx)
    await store.append(key, [{ type: 'user', uuid: 'a' }, { type: 'tag' }])
    await store.append(key, [{ type: 'user', uuid: 'a' }, { type: 'user', uuid: 'b' }, { type: 'tag' }])
    expect((await store.load(key))?.map((entry) => entry.uuid ?? entry.type)).toEqual([
      'a',
      'tag',
      'b',
      'tag',
    ])
    await store.close()
  })

  test('projects, sessions and sub-agents do not mix; deleting a session takes its sub-agents with it', async (ctx) => {
    const store = present(openStore(made++), ctx)
    const sub = { ...key, subpath: 'subagents/agent-1' }
    const other = { projectKey: 'q', sessionId: 's' }
    for (const place of [key, sub, other]) await store.append(place, [{ type: 'user', uuid: 'a' }])
    expect(await store.listSubkeys(key)).toEqual(['subagents/agent-1'])
    expect((await store.listSessions('p')).map(({ sessionId }) => sessionId)).toEqual(['s'])
    expect(Math.abs((await store.listSessions('p'))[0]!.mtime - Date.now())).toBeLessThan(60_000)
    await store.delete(key)
    expect([await store.load(key), await store.load(sub)]).toEqual([null, null])
    expect(await store.load(other)).toHaveLength(1)
    await store.close()
  })

  test('writers at the same time lose nothing and keep their own order', async (ctx) => {
    const which = made++
    const writers = [0, 1, 2].map(() => present(openStore(which), ctx))
    const batches = writers.map((store, w) =>
      Array.from({ length: 20 }, (_, n) => n).reduce(
        (before, n) => before.then(() => store.append(key, [{ type: 'user', uuid: `${w}-${n}`, w, n }])),
        Promise.resolve(),
      ),
    )
    await Promise.all(batches)
    const all = (await writers[0]!.load(key)) ?? []
    expect(all).toHaveLength(60)
    for (const w of [0, 1, 2]) {
      expect(all.filter((entry) => entry['w'] === w).map((entry) => entry['n'])).toEqual(
        Array.from({ length: 20 }, (_, n) => n),
      )
    }
    for (const store of writers) await store.close()
  })
})
