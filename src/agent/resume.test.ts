import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claudePidDomain, identifyProcess } from '../store/disk/process-identity.ts'
import { findTranscript, LookCache, lookAtTranscript, otherWriter } from './resume.ts'

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
const look = async () => (await lookAtTranscript(configDir, id)).resumable

test('every recorded transcript of Claude Code can be walked to its beginning', async () => {
  const folder = join(recorded, 'projects', '-home-dev-projects-demo')
  const ids = readdirSync(folder).flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []))
  expect(ids.length).toBeGreaterThan(20)
  for (const sdkSessionId of ids) {
    expect([sdkSessionId, (await lookAtTranscript(recorded, sdkSessionId)).resumable]).toEqual([
      sdkSessionId,
      { ok: true },
    ])
  }
})

test('what the conversation had cost is read from its end', async () => {
  const look = await lookAtTranscript(recorded, '00000005-0000-4000-8000-00000000000a')
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

test('a torn last line and the side talk of sub-agents do no harm', async () => {
  const side = { ...talk('s', 'nowhere', 'assistant'), isSidechain: true }
  write([talk('a', null), talk('b', 'a', 'assistant'), side], '-p', '{"type":"user","uuid":"c","par')
  expect(await look()).toEqual({ ok: true })
})

test('of two copies the newer one counts', async () => {
  const old = write([talk('a', null)], '-old')
  utimesSync(old, new Date(0), new Date(0))
  const current = write([talk('a', null)], '-new')
  expect(findTranscript(configDir, id)).toBe(current)
})

test('what was seen is remembered until the file changes', async () => {
  const cache = new LookCache()
  write([talk('a', null)])
  const first = await cache.look(configDir, id)
  expect(await cache.look(configDir, id)).toBe(first)
  write([talk('a', null), talk('c', 'b', 'assistant')])
  expect((await cache.look(configDir, id)).resumable).toMatchObject({ why: 'damaged' })
})

test("Claude's registry is believed only of processes that still run", (ctx) => {
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
