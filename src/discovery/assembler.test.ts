import { expect, test } from 'vitest'
import { outlineOf, type SessionFiles } from './assemble.ts'
import { Assembler, type SessionSources } from './assembler.ts'
import { listFactsOf } from './list-facts.ts'
import type { KnownFile } from './native-index.ts'
import type { LiveSession } from './registries.ts'
import { newFacts, type TranscriptFacts } from './transcript-facts.ts'

const usedAt = 1_000_000_000

function factsAt(lastTimestamp: string): TranscriptFacts {
  const facts = { ...newFacts(), firstPrompt: 'a task', lastTimestamp, lastUsageSeconds: usedAt / 1000 }
  return { ...facts, cacheTtlMinutes: 5, firstCwd: '/a', messageCount: 3, costUsd: 0.5 }
}

const factsOf = new Map([
  ['old', factsAt('2026-01-01T00:00:00.000Z')],
  ['new', factsAt('2026-02-01T00:00:00.000Z')],
])

const groups = new Map([...factsOf].map(([sessionId, facts]) => [sessionId, filesOf(sessionId, facts)]))
const sources: SessionSources = { groups, side: new Map(), rows: new Map(), live: new Map(), now: usedAt }

function filesOf(sessionId: string, facts: TranscriptFacts): SessionFiles {
  const place = { path: sessionId, configDir: '/a', sessionId, inode: 1, size: 1, mtimeMs: 1 }
  const file = { ...place, kind: 'session' as const }
  return { sessionId, main: { file, listFacts: listFactsOf(facts, false), torn: false }, subagents: [] }
}

/** An assembler, and the paths whose facts it has read. */
function anAssembler(): { assembler: Assembler; read: string[] } {
  const read: string[] = []
  const readFacts = async (files: readonly KnownFile[]) => {
    read.push(...files.map(({ file }) => file.path))
    return new Map(files.map(({ file }) => [file.path, factsOf.get(file.path)!]))
  }
  return { assembler: new Assembler(readFacts), read }
}

test('facts are read only for the sessions that are shown, and once', async () => {
  const { assembler, read } = anAssembler()
  const [first] = assembler.sorted(sources, 'recent')
  expect(first?.sessionId).toBe('new')
  const [session] = await assembler.sessions([first!.files], sources)
  expect(session).toMatchObject({ sessionId: 'new', warm: true, firstMessage: 'a task', messageCount: 3 })
  const later = { ...sources, rows: new Map(), live: new Map(), now: usedAt + 1_000 }
  expect(await assembler.sessions([first!.files], later)).toEqual([session])
  expect(read).toEqual(['new'])
  expect(assembler.sorted(later, 'recent')).toBe(assembler.sorted(sources, 'recent'))
})

test('a list notices what changes a session: the time, a process, new files', async () => {
  const { assembler } = anAssembler()
  const all = [...groups.values()]
  await assembler.sessions(all, sources)
  const cold = await assembler.sessions(all, { ...sources, now: usedAt + 5 * 60_000 })
  expect(cold.map(({ warm }) => warm)).toEqual([false, false])
  const live = new Map([['old', { sessionId: 'old', pid: 7, status: 'busy', statusAt: 0 } as LiveSession]])
  expect(assembler.sorted({ ...sources, live }, 'recent').map(({ sessionId }) => sessionId)).toEqual([
    'old',
    'new',
  ])
  expect(await assembler.sessions(all, { ...sources, live })).toMatchObject([{ status: 'busy' }, {}])
  const grown = new Map([...groups, ['third', filesOf('third', factsAt('2026-03-01T00:00:00.000Z'))]])
  expect(assembler.sorted({ ...sources, groups: grown }, 'recent')).toHaveLength(3)
})

test('an outline has the same values as the session', async () => {
  const { assembler } = anAssembler()
  const files = groups.get('old')!
  const [session] = await assembler.sessions([files], sources)
  const { files: _files, lastModified, ...outline } = outlineOf(files, { now: usedAt })
  expect(session).toMatchObject(outline)
  expect(session!.lastModified.getTime()).toBe(lastModified)
})
