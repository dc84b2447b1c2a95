// What pi and OpenClaw wrote is read as they read it: the same messages in the same order.
import { cpSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { contextOf } from '../src/domain/transcript.ts'
import type { TranscriptEntry } from '../src/domain/transcript.ts'
import {
  all,
  cwd,
  everyKind,
  isChain,
  lines,
  pathOf,
  put,
  said,
  textsOf,
  transcriptFolder,
} from './support/transcript-folder.ts'

const fixtures = join(import.meta.dirname, 'fixtures', 'openclaw')
const peer = join(fixtures, 'made-by-peer-code')
const id = (n: number): string => `aaaaaaaa-0000-4000-8000-00000000000${n}`

function withFiles(from: string) {
  const folder = transcriptFolder()
  mkdirSync(folder.dir, { recursive: true })
  cpSync(from, folder.dir, { recursive: true })
  return folder
}

describe('what pi recorded', () => {
  test.each([1, 2])('the context of transcript %i is the one that pi makes of it', async (n) => {
    const { transcripts } = withFiles(join(peer, 'agents/main/sessions'))
    const wanted = JSON.parse(readFileSync(join(peer, `context-of-000${n}.json`), 'utf8'))
    const context = contextOf(await pathOf(transcripts, { sessionId: id(n) }))
    expect(JSON.parse(JSON.stringify(context))).toEqual(wanted)
  })

  test('every entry is read as it stands', async () => {
    const { transcripts, dir } = withFiles(join(peer, 'agents/main/sessions'))
    for (const name of readdirSync(dir).filter((file) => file.endsWith('.jsonl'))) {
      const [header, ...entries] = lines(join(dir, name)).map((line) => JSON.parse(line))
      const ref = { sessionId: header.id }
      expect(await transcripts.header(ref)).toEqual(header)
      expect(await all(transcripts.read(ref))).toEqual(entries)
      expect((await transcripts.tail(ref, 100)).entries).toEqual(entries)
      expect((await transcripts.tail(ref, 100)).damage).toEqual([])
    }
  })

  test('the branches are those of its tree', async () => {
    const { transcripts } = withFiles(join(peer, 'agents/main/sessions'))
    type Tree = Array<{ entry: TranscriptEntry; children: Tree; label?: string }>
    const walk = (tree: Tree, above: string[]): string[][] =>
      tree.flatMap(({ entry, children }) => {
        const here = [...above, entry.id]
        return [here, ...walk(children, here)]
      })
    const tree: Tree = JSON.parse(readFileSync(join(peer, 'tree-of-0002.json'), 'utf8'))
    for (const branch of walk(tree, [])) {
      const path = await all(transcripts.path({ sessionId: id(2) }, branch.at(-1)))
      expect(path.map((entry) => entry.id)).toEqual(branch)
    }
  })

  test('a fork of ours is the fork that pi made', async () => {
    const { transcripts } = withFiles(join(peer, 'agents/main/sessions'))
    const theirs = await pathOf(transcripts, { sessionId: id(3) })
    const fork = await transcripts.fork(
      { sessionId: id(2) },
      { sessionId: 'ours', leafId: theirs.at(-1)!.id },
    )
    expect(await pathOf(transcripts, fork)).toEqual(theirs)
  })

  test.each([1, 2])('version %i is read as pi migrates it, and the file stays as it was', async (version) => {
    const { transcripts, dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    const before = readFileSync(join(peer, `migrate-v${version}.before.jsonl`))
    put(file('old'), before)
    const wanted = lines(join(peer, `migrate-v${version}.after.jsonl`))
      .slice(1)
      .map((line) => JSON.parse(line))
    const entries = await pathOf(transcripts, { sessionId: 'old' })
    expect(withoutIds(entries)).toEqual(withoutIds(wanted))
    expect(contextOf(entries).messages).toEqual(contextOf(wanted).messages)
    expect(readFileSync(file('old'))).toEqual(before)
  })

  test('an old transcript can be continued', async () => {
    const { transcripts, dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    cpSync(join(peer, 'migrate-v1.before.jsonl'), file('old'))
    await transcripts.append({ sessionId: 'old' }, [said('v3 q3')], { cwd })
    await transcripts.append({ sessionId: 'old' }, [said('v3 q4')], { cwd })
    expect(await textsOf(transcripts, { sessionId: 'old' })).toEqual([
      'v1 summary',
      'v1 q2',
      'v1 a2',
      'v3 q3',
      'v3 q4',
    ])
    expect(isChain(await pathOf(transcripts, { sessionId: 'old' }))).toBe(true)
  })
})

// Written by our store and opened by pi 0.73.1, which is too large to be a dependency of the tests.
describe('what pi made of transcripts that we wrote', () => {
  const recorded = join(fixtures, 'read-by-pi')

  test.each(['every', 'torn', 'short', 'fork'])(
    'the context of %s is the one that we make of it',
    async (name) => {
      const { transcripts } = withFiles(recorded)
      const wanted = JSON.parse(readFileSync(join(recorded, `${name}.context.json`), 'utf8'))
      const context = contextOf(await pathOf(transcripts, { sessionId: name }))
      expect(JSON.parse(JSON.stringify(context))).toEqual(wanted)
    },
  )

  test('we still write what pi read then', async () => {
    const { transcripts, file } = transcriptFolder()
    await transcripts.append({ sessionId: 'x' }, everyKind(), { cwd })
    const changing = /"(id|parentId|timestamp)":"[^"]*"/g
    const shape = (path: string): string[] => lines(path).map((line) => line.replace(changing, '"$1":"…"'))
    const then = shape(join(recorded, 'every.jsonl'))
    const now = shape(file('x'))
    expect(now).toEqual(then.slice(0, now.length))
  })
})

describe('what real OpenClaw left', () => {
  test.each(['real-2026.1.30', 'real-2026.2.26'])('every transcript of %s is read whole', async (version) => {
    const { transcripts, dir } = withFiles(join(fixtures, version))
    for (const { sessionId, file } of await transcripts.list()) {
      const raw = lines(file!).map((line) => JSON.parse(line))
      const entries = await all(transcripts.read({ sessionId, file }))
      const written = raw.filter((line) => line.type !== 'session')
      // OpenClaw's slash replies have no parent; ours hang below the entry before.
      expect(entries).toMatchObject(written)
      expect(entries.map(({ parentId: _parentId, ...entry }) => entry)).toEqual(
        written.map(({ parentId: _parentId, ...entry }) => entry),
      )
      expect(await pathOf(transcripts, { sessionId, file })).toHaveLength(written.length)
    }
    expect((await transcripts.archives()).length).toBeGreaterThan(0)
    expect(readdirSync(dir)).toEqual(readdirSync(join(fixtures, version)))
  })

  test('entries of the newest OpenClaw, whose header says version 4 and whose ids are long, are read and continued', async () => {
    const { transcripts, dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    const id = '09ddb939-2659-4645-9b89-b57e6e7108c0'
    cpSync(join(fixtures, 'real-2026.9.6', `transcript_events.${id}.jsonl`), file(id))
    const [header, ...written] = lines(file(id)).map((line) => JSON.parse(line))
    const ref = { sessionId: id }
    expect(await transcripts.header(ref)).toEqual(header)
    expect(await pathOf(transcripts, ref)).toEqual(written)
    await transcripts.append(ref, [said('on')], { cwd })
    expect((await textsOf(transcripts, ref)).at(-1)).toBe('on')
  })

  test('the file whose header OpenClaw cut away continues where it was', async () => {
    const { transcripts } = withFiles(join(fixtures, 'real-2026.1.30'))
    const ref = { sessionId: 'after-sessions.compact-headerless' }
    const before = await textsOf(transcripts, ref)
    await transcripts.append(ref, [said('still here')], { cwd })
    expect(await textsOf(transcripts, ref)).toEqual([...before, 'still here'])
    expect(before).toHaveLength(4)
  })
})

describe('what documents describe differently', () => {
  test.each([
    [
      '{"type":"user","content":[{"type":"text","text":"Hello"}],"timestamp":1234567890}',
      { role: 'user', content: [{ type: 'text', text: 'Hello' }], timestamp: 1234567890 },
    ],
    [
      '{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}}]}',
      { role: 'user', content: [{ type: 'image', data: 'QQ==', mimeType: 'image/png' }] },
    ],
    [
      '{"type":"message","id":"msg_02","timestamp":"2024-01-31T14:48:10.000Z","message":{"role":"assistant","content":[]},"usage":{"input":1}}',
      { role: 'assistant', content: [], usage: { input: 1 } },
    ],
  ])('the message line %s', async (line, message) => {
    expect(await readOne(line)).toMatchObject({ type: 'message', message })
  })

  test.each([
    [
      '{"type":"custom","key":"openclaw.cache-ttl","value":45000,"timestamp":"t"}',
      { type: 'custom', customType: 'openclaw.cache-ttl', data: 45000 },
    ],
    [
      '{"type":"model_change","model":"anthropic/claude-x","timestamp":"t"}',
      { type: 'model_change', provider: 'anthropic', modelId: 'claude-x' },
    ],
    ['{"type":"model_change","model":"claude-x"}', { type: 'model_change', modelId: 'claude-x' }],
  ])('the line %s', async (line, entry) => {
    expect(await readOne(line)).toMatchObject(entry)
  })

  test('a header whose version is text', async () => {
    const { transcripts, dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    for (const [version, wanted] of [
      ['"3"', 3],
      ['"<CURRENT_SESSION_VERSION>"', 3],
      ['2', 2],
    ]) {
      put(file('x'), `{"type":"session","version":${version},"id":"x","timestamp":"t","cwd":"/"}\n`)
      expect((await transcripts.header({ sessionId: 'x' }))?.version).toBe(wanted)
    }
  })

  test('lines without ids form one conversation', async () => {
    const { transcripts, dir, file } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    put(
      file('x'),
      '{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/"}\n{"type":"user","content":"one"}\n{"type":"assistant","content":[{"type":"text","text":"two"}]}\n',
    )
    await transcripts.append({ sessionId: 'x' }, [said('three')], { cwd })
    expect(await textsOf(transcripts, { sessionId: 'x' })).toEqual(['one', 'two', 'three'])
  })
})

async function readOne(line: string): Promise<TranscriptEntry> {
  const { transcripts, dir, file } = transcriptFolder()
  mkdirSync(dir, { recursive: true })
  put(file('x'), `{"type":"session","version":"3","id":"x","timestamp":"t","cwd":"/"}\n${line}\n`)
  return (await all(transcripts.read({ sessionId: 'x' })))[0]!
}

function withoutIds(entries: TranscriptEntry[]): unknown[] {
  const place = new Map(entries.map((entry, at) => [entry.id, at]))
  return entries.map((entry) => {
    const { id: _id, parentId, ...rest } = entry
    const kept = 'firstKeptEntryId' in rest ? { firstKeptEntryId: place.get(rest.firstKeptEntryId) } : {}
    return { ...rest, ...kept, parent: parentId === null ? null : place.get(parentId) }
  })
}
