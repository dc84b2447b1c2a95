// What every transcript store keeps: files and PostgreSQL. Each passes the same tests.
import { describe, expect, test } from 'vitest'
import type { TranscriptEntry } from '../../src/domain/transcript.ts'
import type { TranscriptStore } from '../../src/store/session-store.ts'
import { answered, everyKind, said } from './talk.ts'

const cwd = '/home/dev/workspace'
const one = { sessionId: 'aaaaaaaa-0000-4000-8000-000000000001' }

export function transcriptStoreContract(name: string, make: () => TranscriptStore): void {
  const all = async (entries: AsyncIterable<TranscriptEntry>): Promise<TranscriptEntry[]> => {
    const list: TranscriptEntry[] = []
    for await (const entry of entries) list.push(entry)
    return list
  }

  describe(`a transcript store (${name})`, () => {
    test('gives back every kind of entry as it was, with a header and one chain of parents', async () => {
      const store = make()
      expect(await store.exists(one)).toBe(false)
      await expect(store.header(one)).rejects.toMatchObject({ code: 'not-found' })
      const bodies = [...everyKind(), said('🦞 \u0000 \u2028')]
      const written = await store.append(one, bodies, { cwd })
      expect(await all(store.read(one))).toEqual(written)
      expect(written.map((entry) => entry.parentId)).toEqual([
        null,
        ...written.slice(0, -1).map((entry) => entry.id),
      ])
      expect(await store.header(one)).toMatchObject({ type: 'session', version: 3, id: one.sessionId, cwd })
    })

    test('appends that meet keep their order', async () => {
      const store = make()
      const written = await Promise.all(
        Array.from({ length: 20 }, (_, n) => store.append(one, [said(`q${n}`), answered(`a${n}`)], { cwd })),
      )
      const path = await all(store.path(one))
      expect(path.map((entry) => entry.id)).toEqual(written.flat().map((entry) => entry.id))
    })

    test('pages from the end, with a mark for what is before', async () => {
      const store = make()
      const ids = (
        await store.append(
          one,
          Array.from({ length: 7 }, (_, n) => said(`q${n}`)),
          { cwd },
        )
      ).map((entry) => entry.id)
      const last = await store.tail(one, 3)
      expect(last.entries.map((entry) => entry.id)).toEqual(ids.slice(4))
      const before = await store.tail(one, 4, last.before)
      expect(before.entries.map((entry) => entry.id)).toEqual(ids.slice(0, 4))
      expect(before.before).toBeUndefined()
    })

    test('a fork has the path to an entry, and the parent goes on by itself', async () => {
      const store = make()
      const written = await store.append(one, [said('a'), answered('b'), said('c')], { cwd })
      const forked = await store.fork(one, {
        sessionId: 'bbbbbbbb-0000-4000-8000-000000000002',
        leafId: written[1]!.id,
      })
      await store.append(forked, [said('d')], { cwd })
      expect((await all(store.path(forked))).map((entry) => entry.parentId)).toEqual([
        null,
        written[0]!.id,
        written[1]!.id,
      ])
      expect(await all(store.read(one))).toHaveLength(3)
      expect(await store.exists({ sessionId: forked.sessionId })).toBe(true)
      expect((await store.list()).map((ref) => ref.sessionId).sort()).toEqual(
        [one.sessionId, forked.sessionId].sort(),
      )
    })

    test('what is set aside can be read, brought back, and removed', async () => {
      const store = make()
      await store.append(one, [said('a')], { cwd })
      const archived = (await store.archive(one, 'reset'))!
      expect(await store.exists(one)).toBe(false)
      expect(await store.archives()).toMatchObject([
        { name: archived, sessionId: one.sessionId, reason: 'reset' },
      ])
      expect(await all(store.read(await store.archiveRef(archived)))).toHaveLength(1)
      await store.append(one, [said('b'), said('c')], { cwd })
      await expect(store.unarchive(archived)).rejects.toMatchObject({ code: 'conflict' })
      const second = (await store.archive(one, 'deleted'))!
      await store.unarchive(archived)
      expect(await all(store.read(one))).toHaveLength(1)
      await store.discard(second)
      expect(await store.archives()).toEqual([])
      await expect(store.discard(second)).rejects.toMatchObject({ code: 'not-found' })
    })

    test('a shortened transcript keeps its end, and the whole one becomes an archive', async () => {
      const store = make()
      const written = await store.append(
        one,
        Array.from({ length: 6 }, (_, n) => said(`q${n}`)),
        { cwd },
      )
      const result = await store.truncate(one, 2)
      expect(result).toMatchObject({ kept: 2, dropped: 4 })
      const kept = await all(store.path(one))
      expect(kept.map((entry) => [entry.id, entry.parentId])).toEqual([
        [written[4]!.id, null],
        [written[5]!.id, written[4]!.id],
      ])
      expect(await all(store.read(await store.archiveRef(result.archived!)))).toHaveLength(6)
      await store.append(one, [said('next')], { cwd })
      expect((await all(store.path(one))).at(-1)!.parentId).toBe(written[5]!.id)
    })

    test('a topic has a transcript of its own; a whole one is created once', async () => {
      const store = make()
      const topic = { ...one, topicId: 'a/b' }
      await store.append(topic, [said('in the topic')], { cwd })
      expect(await store.exists(one)).toBe(false)
      expect(await store.list()).toMatchObject([{ sessionId: one.sessionId, topicId: 'a/b' }])
      const entries = await all(store.read(topic))
      await store.create(one, { cwd, timestamp: '2026-01-01T00:00:00.000Z' }, entries)
      expect(await all(store.read(one))).toEqual(entries)
      await expect(store.create(one, { cwd }, entries)).rejects.toMatchObject({ code: 'conflict' })
      await expect(store.append({ sessionId: '../x' }, [said('no')], { cwd })).rejects.toMatchObject({
        code: 'input-invalid',
      })
    })
  })
}
