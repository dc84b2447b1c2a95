import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeEvents, type RockpoolEvent } from '../../domain/events.ts'
import type { TranscriptMessage } from '../../domain/transcript.ts'
import {
  all,
  answered,
  cwd,
  isChain,
  lines,
  pathOf,
  put,
  said,
  talk,
  textsOf,
  transcriptFolder,
} from '../../../test/support/transcript-folder.ts'
import { FileTranscripts } from './transcript-file.ts'

const one = { sessionId: 'aaaaaaaa-0000-4000-8000-000000000001' }

describe('writing', () => {
  test('the first entry makes a file of mode 0600 with a header, in a folder of mode 0700', async () => {
    const { transcripts, file, dir } = transcriptFolder()
    const [entry] = await transcripts.append(one, [said('hello')], { cwd })
    const [header, first] = lines(file(one.sessionId)).map((line) => JSON.parse(line))
    expect(header).toEqual({
      type: 'session',
      version: 3,
      id: one.sessionId,
      timestamp: entry!.timestamp,
      cwd,
    })
    expect(first).toEqual({ ...entry, parentId: null })
    expect(entry!.id).toMatch(/^[0-9a-f]{8}$/)
    expect(statSync(file(one.sessionId)).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
  })

  test('appends that meet keep their order and one chain of parents', async () => {
    const { transcripts } = transcriptFolder()
    const appended = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        transcripts.append(one, [said(`q${n}`), answered(`a${n}`)], { cwd }),
      ),
    )
    const path = await pathOf(transcripts, one)
    expect(path.map((entry) => entry.id)).toEqual(appended.flat().map((entry) => entry.id))
    expect(isChain(path)).toBe(true)
  })

  test('two stores on one folder keep one chain', async () => {
    const { transcripts, dir } = transcriptFolder()
    const other = new FileTranscripts({ agentId: 'main', dir })
    for (let n = 0; n < 10; n++) await [transcripts, other][n % 2]!.append(one, [said(`q${n}`)], { cwd })
    expect(await textsOf(transcripts, one)).toEqual(Array.from({ length: 10 }, (_, n) => `q${n}`))
  })

  test('fields stand in the order in which pi writes them', async () => {
    const { transcripts, file } = transcriptFolder()
    await transcripts.append(
      one,
      [said('x'), { type: 'custom', customType: 'openclaw.cache-ttl', data: 1 }],
      { cwd },
    )
    const [, message, custom] = lines(file(one.sessionId)).map((line) => Object.keys(JSON.parse(line)))
    expect(message).toEqual(['type', 'id', 'parentId', 'timestamp', 'message'])
    expect(custom).toEqual(['type', 'customType', 'data', 'id', 'parentId', 'timestamp'])
  })

  test('listeners hear which transcript grew', async () => {
    const events = makeEvents(() => {})
    const heard: RockpoolEvent[] = []
    events.on((event) => heard.push(event))
    const { transcripts, file } = transcriptFolder({ events })
    await transcripts.append(one, [said('x')], { cwd, key: 'agent:main:main' })
    expect(heard).toEqual([
      {
        type: 'transcript-appended',
        agentId: 'main',
        sessionId: one.sessionId,
        file: file(one.sessionId),
        key: 'agent:main:main',
      },
    ])
  })

  test('half a surrogate pair is replaced; characters that end lines elsewhere come back as they were', async () => {
    const { transcripts } = transcriptFolder()
    const texts = ['cut \ud83d', 'a\u2028b\u2029c', '\u0000\u0007\u001b[2J', '🦞'.repeat(3), '\ufeffbom']
    await transcripts.append(one, texts.map(said), { cwd })
    expect(await textsOf(transcripts, one)).toEqual(texts.map((text) => text.toWellFormed()))
  })

  test('an entry that is too long or too deep is refused, and its neighbours are written', async () => {
    const { transcripts } = transcriptFolder()
    let deep: unknown = 1
    for (let n = 0; n < 10_000; n++) deep = [deep]
    const outcomes = await Promise.allSettled([
      transcripts.append(one, [said('before')], { cwd }),
      transcripts.append(one, [said('x'.repeat(9 << 20))], { cwd }),
      transcripts.append(one, [{ type: 'custom', customType: 'x', data: deep }], { cwd }),
      transcripts.append(one, [said('after')], { cwd }),
    ])
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(await textsOf(transcripts, one)).toEqual(['before', 'after'])
  })

  test('a large transcript keeps no list of its ids in memory: new ids are long', async () => {
    const { transcripts } = transcriptFolder()
    const lengths: number[] = []
    for (const text of ['x', 'x'.repeat(1 << 20), 'y']) {
      const [entry] = await transcripts.append(one, [said(text)], { cwd })
      lengths.push(entry!.id.length)
    }
    expect(lengths).toEqual([8, 8, 36])
  })

  test('a transcript that OpenClaw left readable to everybody is closed', async () => {
    const { transcripts, file } = transcriptFolder()
    await transcripts.append(one, [said('x')], { cwd })
    chmodSync(file(one.sessionId), 0o644)
    await transcripts.append(one, [said('y')], { cwd })
    expect(statSync(file(one.sessionId)).mode & 0o777).toBe(0o600)
  })

  test('a topic has a file of its own', async () => {
    const { transcripts, dir } = transcriptFolder()
    const topic = { ...one, topicId: 'a/b c' }
    await transcripts.append(topic, [said('in the topic')], { cwd })
    expect(readdirSync(dir)).toEqual([`${one.sessionId}-topic-a%2Fb%20c.jsonl`])
    expect((await transcripts.list())[0]).toMatchObject(topic)
  })
})

describe('names that come from outside', () => {
  test.each([
    '.',
    '..',
    '',
    'x'.repeat(256),
    'a\0b',
    'a\nb',
    '-rf',
    '.hidden',
    'a.jsonl',
    'a/b',
    '../x',
    'a-topic-b',
  ])('the session id %j is refused', async (sessionId) => {
    const { transcripts, root } = transcriptFolder()
    await expect(transcripts.append({ sessionId }, [said('x')], { cwd })).rejects.toMatchObject({
      code: 'input-invalid',
    })
    expect(existsSync(join(root, 'agents'))).toBe(false)
  })

  test.each([
    '../../evil/x.jsonl',
    '/etc/x.jsonl',
    '../../../agents/other/sessions/x.jsonl',
    'x.txt',
    'x\0.jsonl',
    '/x/agents/main/../main/sessions/x.jsonl',
  ])('a row that names %j as its transcript is refused', async (named) => {
    const { transcripts } = transcriptFolder()
    const ref = { ...one, file: named }
    await expect(transcripts.append(ref, [said('x')], { cwd })).rejects.toMatchObject({ code: 'refused' })
    await expect(all(transcripts.read(ref))).rejects.toMatchObject({ code: 'refused' })
  })

  test('a folder whose name begins like ours is not ours', async () => {
    const { transcripts, dir } = transcriptFolder()
    mkdirSync(`${dir}-evil`, { recursive: true })
    const ref = { ...one, file: join(`${dir}-evil`, 'x.jsonl') }
    await expect(transcripts.append(ref, [said('x')], { cwd })).rejects.toMatchObject({ code: 'refused' })
  })

  test("another agent's transcript is refused, also through a link", async () => {
    const { transcripts, root, dir } = transcriptFolder()
    const other = join(root, 'agents', 'other', 'sessions')
    mkdirSync(other, { recursive: true })
    mkdirSync(dir, { recursive: true })
    put(join(other, 'x.jsonl'), '{"type":"session","version":3,"id":"x","timestamp":"","cwd":""}\n')
    symlinkSync(other, join(dir, 'inner'))
    symlinkSync(join(other, 'x.jsonl'), join(dir, 'x.jsonl'))
    for (const file of [join(other, 'x.jsonl'), join(dir, 'inner', 'x.jsonl'), join(dir, 'x.jsonl')]) {
      const ref = { sessionId: 'x', file }
      await expect(transcripts.append(ref, [said('x')], { cwd })).rejects.toMatchObject({ code: 'refused' })
      await expect(transcripts.tail(ref, 5)).rejects.toMatchObject({ code: 'refused' })
    }
    expect(lines(join(other, 'x.jsonl'))).toHaveLength(1)
  })

  test('a row from a state directory that was moved finds its transcript in the new place', async () => {
    const { transcripts, file } = transcriptFolder()
    await transcripts.append(one, [said('moved')], { cwd })
    const ref = { ...one, file: `/home/dev/old/agents/main/sessions/${one.sessionId}.jsonl` }
    expect(await textsOf(transcripts, ref)).toEqual(['moved'])
    await transcripts.append(ref, [said('on')], { cwd })
    expect(lines(file(one.sessionId))).toHaveLength(3)
  })

  test('a file whose header has the id in other letters belongs to another session', async () => {
    const { transcripts, file, dir } = transcriptFolder()
    mkdirSync(dir, { recursive: true })
    put(file('abc'), '{"type":"session","version":3,"id":"ABC","timestamp":"","cwd":""}\n')
    await expect(transcripts.append({ sessionId: 'abc' }, [said('x')], { cwd })).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})

describe('pages from the end', () => {
  test('pages follow each other back to the beginning', async () => {
    const { transcripts } = transcriptFolder()
    await transcripts.append(one, talk(25), { cwd })
    const seen: string[] = []
    let before: number | undefined
    do {
      const page = await transcripts.tail(one, 10, before)
      expect(page.header?.id).toBe(one.sessionId)
      seen.unshift(...page.entries.map((entry) => entry.id))
      before = page.before
    } while (before !== undefined)
    expect(seen).toEqual((await pathOf(transcripts, one)).map((entry) => entry.id))
  })

  test('a mark inside of an entry is no damage: the page ends with the entry before', async () => {
    const { transcripts } = transcriptFolder()
    await transcripts.append(one, talk(3), { cwd })
    const { before = 0 } = await transcripts.tail(one, 2)
    const page = await transcripts.tail(one, 10, before + 5)
    expect(page).toMatchObject({ entries: { length: 1 }, damage: [] })
  })

  test('a transcript that is not there is not found', async () => {
    const { transcripts } = transcriptFolder()
    await expect(transcripts.tail(one, 5)).rejects.toMatchObject({ code: 'not-found' })
    expect(await transcripts.exists(one)).toBe(false)
  })
})

describe('forks, archives, shortening', () => {
  test('a fork holds the path to its leaf, names its parent, and is found by its id', async () => {
    const { transcripts, file } = transcriptFolder()
    const entries = await transcripts.append(one, talk(6), { cwd })
    const fork = await transcripts.fork(one, { sessionId: 'fork-1', leafId: entries[3]!.id })
    expect(fork.file).toMatch(/\/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_fork-1\.jsonl$/)
    expect(await transcripts.header({ sessionId: 'fork-1' })).toMatchObject({
      id: 'fork-1',
      cwd,
      parentSession: file(one.sessionId),
    })
    expect(await textsOf(transcripts, { sessionId: 'fork-1' })).toEqual(['q1', 'a2', 'q3', 'a4'])
    await transcripts.append({ sessionId: 'fork-1' }, [said('other way')], { cwd })
    expect(await textsOf(transcripts, one)).toHaveLength(6)
    await expect(transcripts.fork(one, { sessionId: 'fork-2', leafId: 'missing1' })).rejects.toMatchObject({
      code: 'not-found',
    })
  })

  test('an archive keeps every byte and comes back under its name', async () => {
    const { transcripts, file } = transcriptFolder({
      clock: { now: () => 1_772_337_600_123, monotonic: () => 0, after: () => () => {} },
    })
    await transcripts.append(one, talk(4), { cwd })
    const bytes = readFileSync(file(one.sessionId))
    const name = await transcripts.archive(one, 'reset')
    expect(name).toBe(`${one.sessionId}.jsonl.reset.2026-03-01T04-00-00.123Z`)
    expect(await transcripts.exists(one)).toBe(false)
    expect(await transcripts.archives()).toEqual([
      { name, sessionId: one.sessionId, reason: 'reset', at: 1_772_337_600_123, bytes: bytes.length },
    ])
    expect(await transcripts.unarchive(name!)).toMatchObject(one)
    expect(readFileSync(file(one.sessionId))).toEqual(bytes)
  })

  test('an archive never replaces a transcript that is there, and nothing outside can be named', async () => {
    const { transcripts } = transcriptFolder()
    await transcripts.append(one, [said('old')], { cwd })
    const name = await transcripts.archive(one, 'deleted')
    await transcripts.append(one, [said('new')], { cwd })
    await expect(transcripts.unarchive(name!)).rejects.toMatchObject({ code: 'conflict' })
    expect(await textsOf(transcripts, one)).toEqual(['new'])
    for (const bad of ['../x.jsonl.reset.2026-03-01T04-00-00.123Z', 'sessions.json', '']) {
      await expect(transcripts.unarchive(bad)).rejects.toMatchObject({ code: 'not-found' })
      await expect(transcripts.discard(bad)).rejects.toMatchObject({ code: 'not-found' })
    }
    await transcripts.discard(name!)
    expect(await transcripts.archives()).toEqual([])
  })

  test('two archives within one millisecond are two files', async () => {
    const { transcripts } = transcriptFolder({
      clock: { now: () => 0, monotonic: () => 0, after: () => () => {} },
    })
    for (const text of ['first', 'second']) {
      await transcripts.append(one, [said(text)], { cwd })
      await transcripts.archive(one, 'reset')
    }
    expect(await transcripts.archives()).toHaveLength(2)
  })

  test('a shortened transcript is a whole one: header, chain, settings, no result without its call', async () => {
    const { transcripts } = transcriptFolder()
    const result: TranscriptMessage = {
      role: 'toolResult',
      toolCallId: 't',
      toolName: 'x',
      content: [],
      isError: false,
      timestamp: 1,
    }
    await transcripts.append(
      one,
      [{ type: 'model_change', provider: 'anthropic', modelId: 'm' }, ...talk(10)],
      { cwd },
    )
    await transcripts.append(one, [{ type: 'message', message: result }, ...talk(3, 20)], { cwd })
    const { kept, dropped, archived } = await transcripts.truncate(one, 4)
    expect({ kept, dropped }).toEqual({ kept: 4, dropped: 11 })
    const path = await pathOf(transcripts, one)
    expect(path.map((entry) => entry.type)).toEqual(['model_change', 'message', 'message', 'message'])
    expect(isChain(path)).toBe(true)
    expect((await transcripts.tail(one, 10)).damage).toEqual([])
    expect((await transcripts.archives()).map((archive) => archive.name)).toEqual([archived])
    await transcripts.append(one, [said('and on')], { cwd })
    expect(await textsOf(transcripts, one)).toEqual(['q20', 'a21', 'q22', 'and on'])
    expect(await transcripts.truncate(one, 400)).toEqual({ kept: 5, dropped: 0 })
  })

  test('a compaction whose first kept entry was cut away still keeps what is left', async () => {
    const { transcripts } = transcriptFolder()
    const [first] = await transcripts.append(one, talk(6), { cwd })
    await transcripts.append(
      one,
      [{ type: 'compaction', summary: 'sum', firstKeptEntryId: first!.id, tokensBefore: null }],
      { cwd },
    )
    await transcripts.append(one, [said('after')], { cwd })
    await transcripts.truncate(one, 4)
    expect(await textsOf(transcripts, one)).toEqual(['sum', 'q5', 'a6', 'after'])
  })
})
