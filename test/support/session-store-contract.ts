// What every session store keeps: SQLite, files, PostgreSQL. Each passes the same tests.
import { beforeEach, describe, expect, test } from 'vitest'
import type { Session, SessionEntry } from '../../src/domain/session.ts'
import type { SessionStore } from '../../src/store/session-store.ts'

export interface StoreUnderTest {
  /** Opens the store of an agent; a second call opens the same rows again. */
  open(agentId: string): SessionStore
}

export function sessionStoreContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`a session store (${name})`, () => {
    let under: StoreUnderTest
    let store: SessionStore

    beforeEach(async () => {
      under = await make()
      store = under.open('main')
    })

    test('keeps an entry with every field, known and unknown, as it was', async () => {
      const entry = {
        ...anEntry('id-1', 1_700_000_000_123),
        futureField: { nested: [1, 'two', null, { deep: true }] },
        skillsSnapshot: { prompt: 'p'.repeat(5_000), skills: [{ name: 'weather' }] },
        label: 'work',
        systemPromptReport: { source: 'run' },
        emoji: '🦞\u2028 a\u0000b',
      }
      const stored = await store.update('agent:main:main', () => entry)
      expect(stored).toEqual(entry)
      const again = await reopen()
      expect(await again.get('agent:main:main')).toEqual(entry)
      expect(Object.keys((await again.get('agent:main:main'))!)).toEqual(Object.keys(entry))
    })

    test('a change sees the stored entry, and what it returns is stored', async () => {
      await store.update('k', (entry) => entry ?? anEntry('a', 1))
      const stored = await store.update('k', (entry) => ({ ...entry!, updatedAt: 2, model: 'm' }))
      expect(stored).toEqual({ sessionId: 'a', updatedAt: 2, model: 'm' })
    })

    test('a change that returns nothing leaves the store as it is', async () => {
      await store.update('k', () => anEntry('a', 1))
      expect(await store.update('k', () => undefined)).toEqual(anEntry('a', 1))
      expect(await store.update('other', () => undefined)).toBeUndefined()
      expect((await store.list()).total).toBe(1)
    })

    test('a change that throws leaves the store as it is and does not disturb others', async () => {
      const outcomes = await Promise.allSettled([
        store.update('a', () => anEntry('a', 1)),
        store.update('b', () => {
          throw new Error('no')
        }),
        store.update('c', () => anEntry('c', 1)),
      ])
      expect(outcomes.map((o) => o.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect((await store.list()).sessions.map((s) => s.key).sort()).toEqual(['a', 'c'])
    })

    test('a change with a known entry sees what is stored, also when others have changed it since', async () => {
      await store.update('k', () => anEntry('a', 1))
      const known = await store.get('k')
      await store.update('k', (entry) => ({ ...entry!, model: 'm' }))
      const later = await store.update('k', (entry) => ({ ...entry!, updatedAt: 2 }), known)
      expect(later).toEqual({ sessionId: 'a', updatedAt: 2, model: 'm' })
      const latest = await store.get('k')
      await store.update('k', (entry) => ({ ...entry!, updatedAt: 3 }), latest)
      expect(latest).toEqual({ sessionId: 'a', updatedAt: 2, model: 'm' })
      expect(await store.get('k')).toEqual({ sessionId: 'a', updatedAt: 3, model: 'm' })
    })

    test('what a reader does to an entry changes nothing in the store', async () => {
      const mine = anEntry('a', 1, { origin: { label: 'x' } })
      await store.update('k', () => mine)
      mine.origin!.label = 'changed after'
      const read = (await store.get('k'))!
      read.origin!.label = 'changed by a reader'
      const listed = (await store.list()).sessions[0]!
      listed.entry.origin!.label = 'changed by a lister'
      await store.update('k', (entry) => {
        entry!.origin!.label = 'changed by a change that returns nothing'
        return undefined
      })
      expect((await store.get('k'))!.origin!.label).toBe('x')
    })

    test('a peek sees every update at once, the very first too, and leaves the bulky fields out', async () => {
      expect(await store.peek('k')).toBeUndefined()
      await store.update('k', () => ({ ...anEntry('a', 1), skillsSnapshot: { prompt: 'p', skills: [] } }))
      expect(await store.peek('k')).toEqual(anEntry('a', 1))
      await store.update('k', (entry) => ({ ...entry!, updatedAt: 2 }))
      expect((await store.peek('k'))?.updatedAt).toBe(2)
      await store.delete('k')
      expect(await store.peek('k')).toBeUndefined()
    })

    test('many updates of one entry at once are all in the result', async () => {
      const count = 200
      await Promise.all(
        Array.from({ length: count }, () =>
          store.update('k', (entry) => ({ ...anEntry('a', 1), n: Number(entry?.['n'] ?? 0) + 1 })),
        ),
      )
      expect((await (await reopen()).get('k'))!['n']).toBe(count)
    })

    test('lists the newest first, with the total whatever the limit', async () => {
      for (let i = 0; i < 5; i++) await store.update(`k${i}`, () => anEntry(`id${i}`, 100 + i))
      const page = await store.list({ limit: 2, offset: 1 })
      expect(page.total).toBe(5)
      expect(page.sessions.map((s) => s.key)).toEqual(['k3', 'k2'])
      expect((await store.list({ limit: 0 })).sessions).toEqual([])
    })

    test('a list leaves out the bulky fields and nothing else', async () => {
      const { skillsSnapshot, ...lean } = anEntry('a', 1, {
        skillsSnapshot: { prompt: 'long', skills: [] },
        label: 'x',
        unknown: 1,
      })
      await store.update('k', () => ({ ...lean, skillsSnapshot }))
      expect((await store.list()).sessions).toEqual([{ key: 'k', agentId: 'main', entry: lean }])
    })

    test('lists by activity, label, parent, and words of key, label, name, subject and id', async () => {
      await store.update('agent:main:telegram:group:1', () =>
        anEntry('id-ÄPFEL', 10, { subject: 'Family 🦞', displayName: 'telegram:g-family' }),
      )
      await store.update('agent:main:subagent:w', () =>
        anEntry('id-2', 20, { label: 'Worker One', spawnedBy: 'agent:main:main' }),
      )
      const keys = async (filter: Parameters<SessionStore['list']>[0]): Promise<string[]> =>
        (await store.list(filter)).sessions.map((s) => s.key)
      const [family, worker] = ['agent:main:telegram:group:1', 'agent:main:subagent:w']
      expect(await keys({ search: 'FAMILY 🦞' })).toEqual([family])
      expect(await keys({ search: 'äpfel' })).toEqual([family])
      expect(await keys({ search: 'subagent' })).toEqual([worker])
      expect(await keys({ search: 'worker one' })).toEqual([worker])
      expect(await keys({ search: '%' })).toEqual([])
      expect(await keys({ activeSince: 20 })).toEqual([worker])
      expect(await keys({ label: 'Worker One' })).toEqual([worker])
      expect(await keys({ spawnedBy: 'agent:main:main' })).toEqual([worker])
    })

    test('archived sessions are listed only when asked for', async () => {
      await store.update('live', () => anEntry('a', 1))
      await store.update('old', () => anEntry('b', 2, { archivedAt: 5 }))
      expect((await store.list()).sessions.map((s) => s.key)).toEqual(['live'])
      expect((await store.list({ archived: true })).sessions.map((s) => s.key)).toEqual(['old'])
    })

    test('finds by key, id, label and the beginning of an id; an exact match wins', async () => {
      await store.update('k1', () => anEntry('abc', 1))
      await store.update('k2', () => anEntry('abcd', 2, { label: 'home' }))
      const keys = async (ref: string): Promise<string[]> => (await store.find(ref)).map((s) => s.key).sort()
      expect(await keys('k1')).toEqual(['k1'])
      expect(await keys('abc')).toEqual(['k1'])
      expect(await keys('ab')).toEqual(['k1', 'k2'])
      expect(await keys('home')).toEqual(['k2'])
      expect(await keys('')).toEqual([])
      expect(await keys('%')).toEqual([])
    })

    test('a label belongs to one session of a store', async () => {
      await store.update('a', () => anEntry('a', 1, { label: 'mine' }))
      const taken = store.update('b', () => anEntry('b', 1, { label: 'mine' }))
      await expect(taken).rejects.toMatchObject({ code: 'conflict' })
      await store.update('a', (entry) => ({ ...entry!, label: 'mine', updatedAt: 2 }))
      expect((await store.list()).total).toBe(1)
    })

    test('deletes a row and gives back what it was', async () => {
      await store.update('k', () => anEntry('a', 1, { skillsSnapshot: { prompt: '', skills: [] } }))
      expect(await store.delete('k')).toEqual(anEntry('a', 1, { skillsSnapshot: { prompt: '', skills: [] } }))
      expect(await store.delete('k')).toBeUndefined()
      expect(await (await reopen()).get('k')).toBeUndefined()
    })

    test('moves a row to another key with all that it is; one that is there already stays, and so does the other', async () => {
      const entry = anEntry('a', 1, { label: 'home', skillsSnapshot: { prompt: 'p', skills: [] } })
      await store.update('telegram:dm:42', () => entry)
      expect(await store.move('telegram:dm:42', 'agent:main:telegram:direct:42')).toEqual(entry)
      await reopen()
      expect((await store.list()).sessions.map(({ key }) => key)).toEqual(['agent:main:telegram:direct:42'])
      expect(await store.get('agent:main:telegram:direct:42')).toEqual(entry)
      expect((await store.list({ search: ':direct:42' })).total).toBe(1)
      await store.update('main', () => anEntry('b', 2))
      expect(await store.move('main', 'agent:main:telegram:direct:42')).toEqual(entry)
      expect((await store.get('main'))?.sessionId).toBe('b')
      expect(await store.move('nothing', 'elsewhere')).toBeUndefined()
      await expect(store.move('main', 'agent:codex:main')).rejects.toMatchObject({ code: 'forbidden' })
    })

    test('gives every entry in full', async () => {
      for (let i = 0; i < 250; i++) await store.update(`k${i}`, () => anEntry(`id${i}`, i))
      const all: Session[] = []
      for await (const session of store.entries()) all.push(session)
      expect(all.map((s) => s.key).sort()).toEqual(Array.from({ length: 250 }, (_, i) => `k${i}`).sort())
    })

    test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
      'the key %s is a key like any other',
      async (key) => {
        expect(await store.get(key)).toBeUndefined()
        await store.update(key, (entry) => entry ?? anEntry('a', 1))
        const again = await reopen()
        expect(await again.get(key)).toEqual(anEntry('a', 1))
        expect((await again.list()).sessions.map((s) => s.key)).toEqual([key])
        expect(({} as Record<string, unknown>)['sessionId']).toBeUndefined()
      },
    )

    test.each([
      ['an entry without an id', { updatedAt: 1 }],
      ['a time that is none', { sessionId: 'a', updatedAt: Number.NaN }],
      ['a value nested 10,000 deep', { sessionId: 'a', updatedAt: 1, deep: nested(10_000) }],
      [
        'a field named __proto__',
        JSON.parse('{"sessionId":"a","updatedAt":1,"x":{"__proto__":{"admin":true}}}'),
      ],
    ])('refuses %s and stays writable', async (_, entry) => {
      const refused = store.update('k', () => entry as SessionEntry)
      await expect(refused).rejects.toMatchObject({ code: 'input-invalid' })
      await store.update('k', () => anEntry('a', 1))
      expect(await (await reopen()).get('k')).toEqual(anEntry('a', 1))
    })

    test.each(['', 'a\nb', 'a\u0000b', 'x'.repeat(2_000), '\ud800'])('refuses the key %j', async (key) => {
      await expect(store.update(key, () => anEntry('a', 1))).rejects.toMatchObject({ code: 'input-invalid' })
    })

    test('the sessions of two agents have nothing to do with each other', async () => {
      const other = under.open('codex')
      await store.update('agent:main:main', () => anEntry('same-id', 1, { label: 'mine' }))
      await other.update('agent:codex:main', () => anEntry('same-id', 1, { label: 'mine' }))
      const reach = other.update('agent:main:main', () => anEntry('stolen', 2))
      await expect(reach).rejects.toMatchObject({ code: 'forbidden' })
      expect(await other.get('agent:main:main')).toBeUndefined()
      expect(await other.delete('agent:main:main')).toBeUndefined()
      expect((await other.find('same-id')).map((s) => s.key)).toEqual(['agent:codex:main'])
      expect((await store.get('agent:main:main'))!.sessionId).toBe('same-id')
      await other.close()
    })

    test('an empty store can be read without being made', async () => {
      expect(await store.list()).toEqual({ total: 0, sessions: [] })
      expect(await store.get('k')).toBeUndefined()
      expect(await store.find('k')).toEqual([])
      expect(await store.delete('k')).toBeUndefined()
      expect(await store.damage()).toEqual([])
    })

    async function reopen(): Promise<SessionStore> {
      await store.close()
      store = under.open('main')
      return store
    }
  })
}

export function anEntry(
  sessionId: string,
  updatedAt: number,
  more: Partial<SessionEntry> = {},
): SessionEntry {
  return { sessionId, updatedAt, ...more }
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}
