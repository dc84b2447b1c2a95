// A sessions.json that is the truth and was damaged. Real OpenClaw takes each of these for an empty store and writes a
// new one over it (openclaw-measured 6.1); here nothing readable is lost, and nothing happens without a word.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import type { Log } from '../src/domain/log.ts'
import type { SessionEntry } from '../src/domain/session.ts'
import { FileSessions } from '../src/store/files/sessions-in-file.ts'
import { setSessionsAside } from '../src/store/files/recover-sessions.ts'

let root: string
let path: string
const told: string[] = []
const log: Log = { ...silentLog, error: (_, message) => void told.push(message), child: () => log }

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-damage-'))
  path = join(root, 'agents', 'main', 'sessions', 'sessions.json')
  mkdirSync(dirname(path), { recursive: true })
  told.length = 0
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const open = (): FileSessions => new FileSessions({ agentId: 'main', path, clock: systemClock, log })
const entry = (i: number): SessionEntry => ({ sessionId: `session-id-${i}`, updatedAt: 1_000 + i })
const names = (): string[] => readdirSync(dirname(path)).sort()
const asideOf = (): string[] => names().filter((name) => name.includes('.corrupt-'))

function tenSessions(): Record<string, SessionEntry> {
  return Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`agent:main:k${i}`, entry(i)]))
}

function damagedTexts(): Array<[string, string]> {
  const text = JSON.stringify(tenSessions(), null, 2)
  return [
    ['cut in half', text.slice(0, text.length / 2)],
    ['with one wrong byte', text.replace('{', '\u0001')],
    ...unreadableTexts(),
  ]
}

function unreadableTexts(): Array<[string, string]> {
  return [
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['a brace', '{'],
    ['NUL bytes', '\0'.repeat(300)],
    ['binary', '\u0089PNG\r\n\u001a\n'],
  ]
}

test.each(damagedTexts())(
  '%s: the last good copy is shown, and the next update keeps everything',
  async (_, damaged) => {
    const ten = tenSessions()
    writeFileSync(`${path}.bak`, JSON.stringify(ten))
    writeFileSync(path, damaged)
    const store = open()
    expect((await store.list()).total).toBe(10)
    expect(readFileSync(path, 'utf8')).toBe(damaged)
    const [problem] = await store.damage()
    expect(problem).toContain('cannot be read')
    expect(problem).not.toMatch(/in JSON|JSON input|Unexpected|literal/)
    await store.update('agent:main:k3', (one) => ({ ...one!, label: 'after' }))
    await store.update('agent:main:new', () => entry(99))
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      ...ten,
      'agent:main:k3': { ...entry(3), label: 'after' },
      'agent:main:new': entry(99),
    })
    expect(asideOf().map((name) => readFileSync(join(dirname(path), name), 'utf8'))).toEqual([damaged])
    expect(statSync(join(dirname(path), asideOf()[0]!)).mode & 0o777).toBe(0o600)
    expect(told).toEqual([
      expect.stringContaining('10 sessions come from sessions.json.bak'),
      expect.stringContaining('Rebuilt '),
    ])
    expect(await store.damage()).toEqual([])
  },
)

test.each(unreadableTexts())('%s, and no copy: every transcript is a session again', async (_, damaged) => {
  writeFileSync(path, damaged)
  const header = (id: string): string =>
    `${JSON.stringify({ type: 'session', version: 3, id, timestamp: 'x', cwd: '/' })}\n`
  writeFileSync(join(dirname(path), 'session-id-1.jsonl'), header('session-id-1'))
  writeFileSync(join(dirname(path), 'session-id-2-topic-77.jsonl'), header('session-id-2'))
  writeFileSync(join(dirname(path), 'session-id-3.jsonl'), 'torn{')
  writeFileSync(
    join(dirname(path), 'session-id-4.jsonl.deleted.2026-01-01T00-00-00.000Z'),
    header('session-id-4'),
  )
  const store = open()
  const { sessions } = await store.list()
  expect(sessions.map((session) => session.key).sort()).toEqual([
    'agent:main:recovered:session-id-1',
    'agent:main:recovered:session-id-2:topic:77',
    'agent:main:recovered:session-id-3',
  ])
  await store.update('agent:main:new', () => entry(9))
  expect((await open().list()).total).toBe(4)
  expect(asideOf()).toHaveLength(1)
})

test('without a copy the entries that are whole come back, and one with a wrong byte as a transcript', async () => {
  const text = JSON.stringify(tenSessions(), null, 2).replace('"updatedAt": 1004', '"updatedAt" 1004')
  writeFileSync(path, text.slice(0, text.indexOf('session-id-8')))
  const header = { type: 'session', version: 3, id: 'session-id-4', timestamp: 'x', cwd: '/' }
  writeFileSync(join(dirname(path), 'session-id-4.jsonl'), `${JSON.stringify(header)}\n`)
  const store = open()
  const keys = (await store.list()).sessions.map((session) => session.key).sort()
  const whole = [0, 1, 2, 3, 5, 6, 7].map((i) => `agent:main:k${i}`)
  expect(keys).toEqual([...whole, 'agent:main:recovered:session-id-4'])
  expect((await store.damage()).join()).toContain('7 sessions come from its readable part')
})

test('of an entry that the copy has, too, the newer version counts, and its key is the one of the copy', async () => {
  const text = JSON.stringify(
    { ...tenSessions(), 'agent:main:k3': { ...entry(30), sessionId: 'session-id-3' } },
    null,
    2,
  )
  writeFileSync(`${path}.bak`, JSON.stringify(tenSessions()))
  writeFileSync(path, text.replace('agent:main:k5', 'agent:main:x5').slice(0, -1))
  const { sessions } = await open().list()
  expect(sessions.map(({ key }) => key).sort()).toEqual(Object.keys(tenSessions()))
  expect(sessions.find(({ key }) => key === 'agent:main:k3')?.entry.updatedAt).toBe(1_030)
})

test.each(unreadableTexts())(
  '%s, and nothing to go by: an error, and nothing is changed',
  async (_, damaged) => {
    writeFileSync(path, damaged)
    const store = open()
    await expect(store.list()).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining(path),
    })
    await expect(store.update('k', () => entry(1))).rejects.toMatchObject({
      code: 'damaged',
      hint: expect.stringContaining('doctor'),
    })
    expect(readFileSync(path, 'utf8')).toBe(damaged)
    expect(names()).toEqual(['sessions.json'])
  },
)

test('a transcript whose header has another id than its name stays with the session that has it', async () => {
  const header = { type: 'session', version: 2, id: 'id-in-the-header', timestamp: 'x', cwd: '/' }
  for (const name of ['session-id-1', 'named-by-its-row'])
    writeFileSync(join(dirname(path), `${name}.jsonl`), `${JSON.stringify(header)}\n`)
  const known = {
    'agent:main:main': entry(1),
    'agent:main:direct:7': { ...entry(2), sessionFile: join(dirname(path), 'named-by-its-row.jsonl') },
  }
  writeFileSync(`${path}.bak`, JSON.stringify(known))
  writeFileSync(path, '{')
  const { sessions } = await open().list()
  expect(sessions.map((session) => session.key)).toEqual(['agent:main:direct:7', 'agent:main:main'])
})

test('once the doctor has set such a file aside, work continues, and its bytes are still there', async () => {
  writeFileSync(path, '{"torn')
  const aside = await setSessionsAside(path, systemClock)
  await open().update('k', () => entry(1))
  expect((await open().list()).total).toBe(1)
  expect(readFileSync(aside, 'utf8')).toBe('{"torn')
})

test('entries that are none are left where they are, word for word; the others are listed and changed', async () => {
  const deep = '['.repeat(10_000) + ']'.repeat(10_000)
  writeFileSync(
    path,
    `{"good":{"sessionId":"a","updatedAt":1},"number":1,"list":[ 1 ],"without":{"updatedAt":1},` +
      `"time":{"sessionId":"a","updatedAt":"x"},"huge":{"sessionId":"a","updatedAt":1e400},"deep":{"sessionId":"a","updatedAt":1,"x":${deep}},` +
      `"no\\ttime":{"sessionId":"b"}, "text}": "a,b}\\""}`,
  )
  const store = open()
  expect((await store.list()).sessions.map((session) => session.key)).toEqual(['good'])
  expect(await store.damage()).toHaveLength(7)
  await store.update('good', (one) => ({ ...one!, updatedAt: 2 }))
  const text = readFileSync(path, 'utf8')
  for (const kept of ['"number": 1', '"list": [ 1 ]', '1e400', deep, '"text}": "a,b}\\""'])
    expect(text).toContain(kept)
  expect((await open().get('good'))!.updatedAt).toBe(2)
  await store.update('number', () => entry(5))
  const line = JSON.parse(readFileSync(`${path}.set-aside.jsonl`, 'utf8')) as { key: string; raw: string }
  expect(line).toMatchObject({ key: 'number', raw: '1' })
})

test('of a key that is there twice the last one counts, as everywhere, and the file before is kept', async () => {
  const text = '{"k":{"sessionId":"a","updatedAt":1},"k":{"sessionId":"b","updatedAt":2}}'
  writeFileSync(path, text)
  const store = open()
  await store.update('k', (one) => ({ ...one!, label: 'x' }))
  expect((await store.get('k'))!.sessionId).toBe('b')
  expect(readFileSync(`${path}.bak`, 'utf8')).toBe(text)
})

test('a file that a person wrote by hand as JSON5 is read, and copied before it is overwritten', async () => {
  const text = "// mine\n{ 'agent:main:main': { sessionId: 'a', updatedAt: 1, }, }\n"
  writeFileSync(path, text)
  const store = open()
  expect((await store.list()).total).toBe(1)
  await store.update('agent:main:main', (one) => ({ ...one!, updatedAt: 2 }))
  expect(readFileSync(`${path}.bak`, 'utf8')).toBe(text)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    'agent:main:main': { sessionId: 'a', updatedAt: 2 },
  })
})

test('a byte order mark is no damage', async () => {
  writeFileSync(path, `\uFEFF${JSON.stringify({ k: entry(1) })}`)
  expect((await open().list()).total).toBe(1)
})

test('__proto__ inside an entry is dropped and reaches nothing', async () => {
  writeFileSync(
    path,
    '{"k":{"sessionId":"a","updatedAt":1,"origin":{"\\u005f_proto__":{"admin":true},"label":"x"}}}',
  )
  const read = (await open().get('k'))!
  expect(read.origin).toEqual({ label: 'x' })
  expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  expect(Object.assign({}, read.origin)).not.toHaveProperty('admin')
})

test('a large file is read', async () => {
  const entries = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, i) => [`k${i}`, { ...entry(i), text: 'x'.repeat(500) }]),
  )
  writeFileSync(path, JSON.stringify(entries))
  expect((await open().list({ limit: 3 })).total).toBe(20_000)
})

test('a copy of the version before is kept, at most once a minute', async () => {
  const store = open()
  for (let i = 1; i <= 5; i++) await store.update('k', () => ({ sessionId: 'a', updatedAt: i }))
  expect(
    (JSON.parse(readFileSync(`${path}.bak`, 'utf8')) as Record<string, SessionEntry>)['k']!.updatedAt,
  ).toBe(1)
})

test('when the file was deleted, its last copy is moved aside before a new one is started', async () => {
  writeFileSync(`${path}.bak`, JSON.stringify(tenSessions()))
  const store = open()
  expect((await store.list()).total).toBe(0)
  await store.update('k', () => entry(1))
  const copy = names().find((name) => name.startsWith('sessions.json.bak-'))!
  expect(JSON.parse(readFileSync(join(dirname(path), copy), 'utf8'))).toEqual(tenSessions())
})

test('a file that others could read is closed with the next write; links and directories are refused', async () => {
  writeFileSync(path, JSON.stringify({ k: entry(1) }))
  chmodSync(path, 0o644)
  await open().update('k', (one) => ({ ...one!, updatedAt: 5_000 }))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  rmSync(path)
  writeFileSync(join(root, 'target.json'), JSON.stringify({ k: entry(1) }))
  symlinkSync(join(root, 'target.json'), path)
  await expect(open().list()).rejects.toMatchObject({ code: 'refused' })
  await expect(open().update('k', () => entry(2))).rejects.toMatchObject({ code: 'refused' })
  expect(JSON.parse(readFileSync(join(root, 'target.json'), 'utf8'))).toEqual({ k: entry(1) })
  expect(existsSync(`${path}.lock`)).toBe(false)
})

test('a program that replaces the file without the lock, while we write, makes our update fail and not theirs', async () => {
  const store = open()
  await store.update('k', () => entry(1))
  const update = store.update('k', (one) => {
    writeFileSync(path, JSON.stringify({ theirs: entry(7) }))
    return { ...one!, updatedAt: 9_999 }
  })
  await expect(update).rejects.toMatchObject({ code: 'lock-lost' })
  expect((await store.list()).sessions.map((session) => session.key)).toEqual(['theirs'])
})
