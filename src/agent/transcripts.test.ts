import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudePidDomain, identifyProcess } from '../store/disk/process-identity.ts'
import { otherWriter } from './other-writers.ts'
import { findTranscript, readTranscriptState, receivedPrompts, TranscriptStates } from './transcripts.ts'

const recorded = join(import.meta.dirname, '../../test/fixtures/claude-code')
const id = '11111111-2222-4333-8444-555555555555'
let configDir: string
beforeEach(() => void (configDir = mkdtempSync(join(tmpdir(), 'rockpool-resume-'))))
afterEach(() => rmSync(configDir, { recursive: true }))

function write(records: object[], project = '-p', tail = ''): string {
  const folder = join(configDir, 'projects', project)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${id}.jsonl`)
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join('') + tail)
  return path
}
const talk = (uuid: string, parentUuid: string | null, type = 'user'): object => ({ type, uuid, parentUuid })
const look = async () => (await readTranscriptState(configDir, id)).resumable

test('every recorded transcript of Claude Code can be walked to its beginning', async () => {
  const folder = join(recorded, 'projects', '-home-dev-projects-demo')
  const ids = readdirSync(folder).flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []))
  expect(ids.length).toBeGreaterThan(20)
  for (const sdkSessionId of ids) {
    expect([sdkSessionId, (await readTranscriptState(recorded, sdkSessionId)).resumable]).toEqual([
      sdkSessionId,
      { ok: true },
    ])
  }
})

test('what the conversation had cost is read from its end', async () => {
  const look = await readTranscriptState(recorded, '00000005-0000-4000-8000-00000000000a')
  expect(look.costUsd).toBeCloseTo(0.005823)
})

test('a transcript that is not there is gone, whatever the id looks like', async () => {
  expect(await look()).toMatchObject({ ok: false, why: 'gone' })
  for (const strange of ['../../etc/passwd', '', 'not-a-uuid']) {
    expect(findTranscript(configDir, strange)).toBeUndefined()
  }
})

test('a session that was started and never said anything is empty', async () => {
  write([])
  expect(await look()).toMatchObject({ ok: false, why: 'empty' })
  write([{ type: 'queue-operation', sessionId: id }])
  expect(await look()).toMatchObject({ ok: false, why: 'empty' })
})

test('a chain with a hole or a circle is damaged; one that was cut by a compaction is whole', async () => {
  write([talk('a', null), talk('c', 'b', 'assistant')])
  expect(await look()).toMatchObject({ ok: false, why: 'damaged' })
  write([talk('a', 'b'), talk('b', 'a', 'assistant')])
  expect(await look()).toMatchObject({ ok: false, why: 'damaged' })
  write([
    talk('old', 'lost'),
    talk('boundary', null, 'system'),
    talk('a', 'boundary'),
    talk('b', 'a', 'assistant'),
  ])
  expect(await look()).toEqual({ ok: true })
})

test('what is lost before a summary is not needed; a way that leads by a sub-agent is whole', async () => {
  const boundary = {
    ...talk('boundary', null, 'system'),
    subtype: 'compact_boundary',
    logicalParentUuid: 'lost',
  }
  write([talk('old', null), boundary, talk('a', 'boundary'), talk('b', 'a', 'assistant')])
  expect(await look()).toEqual({ ok: true })
  const side = { ...talk('s', 'a', 'assistant'), isSidechain: true }
  write([talk('a', null), side, talk('b', 's', 'assistant')])
  expect(await look()).toEqual({ ok: true })
})

test('a torn last line and records of sub-agents do no harm', async () => {
  const side = { ...talk('s', 'nowhere', 'assistant'), isSidechain: true }
  write([talk('a', null), talk('b', 'a', 'assistant'), side], '-p', '{"type":"user","uuid":"c","par')
  expect(await look()).toEqual({ ok: true })
})

test('of two copies the newer one is used', async () => {
  const old = write([talk('a', null)], '-old')
  utimesSync(old, new Date(0), new Date(0))
  const current = write([talk('a', null)], '-new')
  expect(findTranscript(configDir, id)).toBe(current)
})

test('the state of a transcript is cached until the file changes', async () => {
  const cache = new TranscriptStates()
  write([talk('a', null)])
  const first = await cache.read(configDir, id)
  expect(await cache.read(configDir, id)).toBe(first)
  write([talk('a', null), talk('c', 'b', 'assistant')])
  expect((await cache.read(configDir, id)).resumable).toMatchObject({ why: 'damaged' })
})

test("Claude's registry is trusted only for processes that still run", (ctx) => {
  if (process.platform !== 'linux') ctx.skip('start times are read from /proc')
  mkdirSync(join(configDir, 'sessions'))
  const self = identifyProcess(process.pid)!
  const entry = {
    pid: self.pid,
    sessionId: id,
    cwd: '/x',
    procStart: self.startTime,
    pidDomain: claudePidDomain(),
  }
  const put = (more: object): void =>
    writeFileSync(join(configDir, 'sessions', `${process.pid}.json`), JSON.stringify({ ...entry, ...more }))
  const seen = (): unknown => otherWriter(configDir, id, () => false)
  put({})
  expect(seen()).toEqual({ pid: process.pid, cwd: '/x' })
  expect(otherWriter(configDir, id, (pid) => pid === process.pid)).toBeUndefined()
  put({ procStart: '1' })
  expect(seen()).toBeUndefined()
  put({ pidDomain: 'linux:another-machine:pid:[1]' })
  expect(seen()).toBeUndefined()
  put({ sessionId: 'other' })
  expect(seen()).toBeUndefined()
})

const prompt = (uuid: string, text: string) => ({ uuid, text })
const written = (uuid: string, content: unknown) => ({
  type: 'user',
  uuid,
  message: { role: 'user', content },
})

test('a prompt is found as a record of its own, and as an attachment when it joined a turn', async () => {
  const joined = { type: 'attachment', uuid: 'x', attachment: { type: 'queued_command', source_uuid: 'b' } }
  const records = [written('a', 'one'), joined, { type: 'queue-operation', content: 'three' }]
  const prompts = [prompt('a', 'one'), prompt('b', 'two'), prompt('c', 'three')]
  expect(await receivedPrompts(prompts, records)).toEqual(new Set(['a', 'b']))
})

test('several that waited together are one record under the name of the last', async () => {
  const records = [written('b', 'one\ntwo')]
  const prompts = [prompt('a', 'one'), prompt('b', 'two'), prompt('c', 'three')]
  expect(await receivedPrompts(prompts, records)).toEqual(new Set(['a', 'b']))
})

test('a tool result that repeats a prompt is not a prompt', async () => {
  const records = [written('other', [{ type: 'tool_result', content: 'one\n' }])]
  expect(await receivedPrompts([prompt('a', 'one')], records)).toEqual(new Set())
})
