// sessions.json beside the database: what others read there, and what becomes of what they write there.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import type { Clock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import type { SessionEntry } from '../src/domain/session.ts'
import { FileLock } from '../src/store/disk/file-lock.ts'
import { FileSessions } from '../src/store/files/sessions-in-file.ts'
import type { SessionStore } from '../src/store/session-store.ts'
import { rebuildSessionDatabase } from '../src/store/sqlite/rebuild-sessions.ts'
import { SqliteSessions } from '../src/store/sqlite/sessions.ts'

let root: string
let path: string
let database: string
let store: SessionStore
const opened: SessionStore[] = []

const soon = { timeout: 20_000 }

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-mirror-'))
  path = join(root, 'agents', 'main', 'sessions', 'sessions.json')
  database = join(dirname(path), 'sessions.sqlite')
  store = open()
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
  rmSync(root, { recursive: true, force: true })
})

function open(clock: Clock = systemClock): SessionStore {
  const made = new SqliteSessions({ agentId: 'main', database, mirror: path, clock, log: silentLog })
  opened.push(made)
  return made
}

/** Waits for the file to be written and opens it again. */
async function reopen(): Promise<void> {
  await store.close()
  store = open()
}

type Entries = Record<string, SessionEntry>
const file = (): Entries => JSON.parse(readFileSync(path, 'utf8')) as Entries
const edit = (change: (entries: Entries) => void): void => {
  const entries = file()
  change(entries)
  writeFileSync(path, JSON.stringify(entries, null, 2))
}
const entry = (sessionId: string, updatedAt: number, more: Partial<SessionEntry> = {}): SessionEntry => ({
  sessionId,
  updatedAt,
  ...more,
})
const setAside = async (): Promise<string[]> =>
  (await store.damage()).filter((line) => line.includes('set aside'))

test('it is written soon after a change, many changes at once, in the format that OpenClaw reads', async () => {
  const waiting: Array<() => void> = []
  const clock = { ...systemClock, after: (_: number, fn: () => void) => (waiting.push(fn), () => {}) }
  store = open(clock)
  for (let i = 0; i < 50; i++)
    await store.update(`k${i}`, () => entry(`id${i}`, i, { origin: { label: 'ä\n"' } }))
  expect(existsSync(path)).toBe(false)
  expect(waiting).toHaveLength(1)
  waiting[0]!()
  await expect.poll(() => existsSync(path), soon).toBe(true)
  const expected = Object.fromEntries(
    Array.from({ length: 50 }, (_, i) => [`k${i}`, entry(`id${i}`, i, { origin: { label: 'ä\n"' } })]),
  )
  expect(readFileSync(path, 'utf8')).toBe(JSON.stringify(expected, null, 2))
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('it follows without being asked', async () => {
  await store.update('k', () => entry('a', 1))
  await expect.poll(() => existsSync(path) && file()['k']?.sessionId, soon).toBe('a')
  await store.delete('k')
  await expect.poll(() => readFileSync(path, 'utf8'), soon).toBe('{}')
})

test('fields, bulky ones too, are at the place where they were', async () => {
  const whole = {
    a: 1,
    skillsSnapshot: { prompt: 'p', skills: [] },
    ...entry('id', 1),
    systemPromptReport: null,
    z: 2,
  }
  await store.update('k', () => whole)
  await reopen()
  expect(readFileSync(path, 'utf8')).toBe(JSON.stringify({ k: whole }, null, 2))
})

test.each(['real-2026.1.30', 'real-2026.2.26', 'made-by-peer-code/agents/main/sessions'])(
  'the files of a real OpenClaw (%s) are read, listed, updated and written back with one field changed',
  async (version) => {
    const text = readFileSync(join('test/fixtures/openclaw', version, 'sessions.json'), 'utf8')
    const original = JSON.parse(text) as Entries
    const key = Object.keys(original)[0]!
    for (const mode of ['sqlite', 'files']) {
      rmSync(dirname(path), { recursive: true, force: true })
      cpSync(join('test/fixtures/openclaw', version), dirname(path), { recursive: true })
      store =
        mode === 'sqlite'
          ? open()
          : new FileSessions({ agentId: 'main', path, clock: systemClock, log: silentLog })
      expect((await store.list()).sessions.map((session) => session.key).sort()).toEqual(
        Object.keys(original).sort(),
      )
      for (const [name, one] of Object.entries(original)) expect(await store.get(name)).toEqual(one)
      await store.update(key, (one) => ({ ...one!, label: 'seen' }))
      await store.close()
      const expected = { ...original, [key]: { ...original[key]!, label: 'seen' } }
      expect(readFileSync(path, 'utf8'), mode).toBe(JSON.stringify(expected, null, 2))
    }
  },
)

test("another program's change, addition and removal are imported; the removed row is set aside", async () => {
  for (const key of ['changed', 'removed', 'same']) await store.update(key, () => entry(key, 1))
  await reopen()
  edit((entries) => {
    entries['changed']!['thinkingLevel'] = 'high'
    entries['added'] = entry('added', 1)
    delete entries['removed']
  })
  expect((await store.list()).sessions.map((session) => session.key).sort()).toEqual([
    'added',
    'changed',
    'same',
  ])
  expect((await store.get('changed'))!.thinkingLevel).toBe('high')
  expect(await setAside()).toEqual([expect.stringContaining('another program removed it')])
})

test('an update sees what another program has just written', async () => {
  await store.update('k', () => entry('a', 1))
  await reopen()
  edit((entries) => void (entries['k']!['n'] = 1))
  expect(await store.update('k', (one) => ({ ...one!, n: Number(one!['n']) + 1 }))).toMatchObject({ n: 2 })
})

test('where both sides changed an entry the newer wins, whichever it is, and ours is set aside when it loses', async () => {
  for (const key of ['ours', 'theirs']) await store.update(key, () => entry(key, 10))
  await reopen()
  const waiting: Array<() => void> = []
  const quiet = open({ ...systemClock, after: (_, fn) => (waiting.push(fn), () => {}) })
  await quiet.update('ours', (one) => ({ ...one!, updatedAt: 30, by: 'us' }))
  await quiet.update('theirs', (one) => ({ ...one!, updatedAt: 15, by: 'us' }))
  await quiet.update('new', () => entry('new', 1))
  edit((entries) => {
    entries['ours'] = entry('ours', 20, { by: 'them' })
    entries['theirs'] = entry('theirs', 20, { by: 'them' })
  })
  expect(await quiet.get('ours')).toMatchObject({ by: 'us' })
  expect(await quiet.get('theirs')).toMatchObject({ by: 'them' })
  expect(await setAside()).toEqual([expect.stringContaining('an earlier entry of theirs')])
  for (const write of waiting.splice(0)) write()
  await expect.poll(() => file()['ours']?.['by'], soon).toBe('us')
  expect(Object.keys(file()).sort()).toEqual(['new', 'ours', 'theirs'])
})

test('a session that we deleted is not brought back by an older copy of the file', async () => {
  await store.update('gone', () => entry('gone', 10))
  await store.update('kept', () => entry('kept', 10))
  await reopen()
  const quiet = open({ ...systemClock, after: () => () => {} })
  await quiet.delete('gone')
  edit((entries) => void (entries['kept']!['by'] = 'them'))
  expect((await quiet.list()).sessions.map((session) => session.key)).toEqual(['kept'])
  expect(await quiet.get('kept')).toMatchObject({ by: 'them' })
})

test('two processes write the file in turns and neither takes the other for a stranger', async () => {
  const other = open()
  for (let i = 0; i < 4; i++) {
    await (i % 2 ? store : other).update('k', (one) => ({ ...entry('a', i), n: Number(one?.['n'] ?? 0) + 1 }))
    await expect.poll(() => existsSync(path) && file()['k']?.['n'], soon).toBe(i + 1)
  }
  expect(await store.damage()).toEqual([])
})

test('values that are no entries, and entries of other agents, stay in the file word for word', async () => {
  mkdirSync(dirname(path), { recursive: true })
  const text =
    '{"k": {"sessionId": "a", "updatedAt": 1}, "bad": [1,  2], "huge": {"sessionId": "b", "updatedAt": 1e400}, "agent:codex:main": {"sessionId": "c", "updatedAt": 1}}'
  writeFileSync(path, text)
  expect((await store.list()).sessions.map((session) => session.key)).toEqual(['k'])
  await store.update('k', (one) => ({ ...one!, n: 1 }))
  await reopen()
  const written = readFileSync(path, 'utf8')
  expect(written).toContain('"bad": [1,  2]')
  expect(written).toContain('"updatedAt": 1e400')
  expect(file()['agent:codex:main']).toEqual(entry('c', 1))
  expect(await store.damage()).toHaveLength(3)
  await store.update('bad', () => entry('new', 1))
  expect(await setAside()).toEqual([expect.stringContaining('a new entry replaced it')])
})

test('an edit that cannot be read is set aside, and the rows are as they were', async () => {
  await store.update('k', () => entry('a', 1))
  await reopen()
  writeFileSync(path, '{"k": {')
  expect((await store.list()).total).toBe(1)
  await reopen()
  expect(file()).toEqual({ k: entry('a', 1) })
  const aside = readdirSync(dirname(path)).filter((name) => name.startsWith('sessions.json.corrupt-'))
  expect(aside.map((name) => readFileSync(join(dirname(path), name), 'utf8'))).toEqual(['{"k": {'])
})

test('a program that lost nearly all sessions and wrote a new file is not believed', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, i) => store.update(`k${i}`, () => entry(`id${i}`, i))))
  await reopen()
  writeFileSync(path, JSON.stringify({ fresh: entry('fresh', 99) }))
  expect((await store.list()).total).toBe(31)
  await reopen()
  expect(Object.keys(file())).toHaveLength(31)
})

test('a file that was deleted is written again', async () => {
  await store.update('k', () => entry('a', 1))
  await reopen()
  rmSync(path)
  await store.update('k', (one) => ({ ...one!, updatedAt: 2 }))
  await reopen()
  expect(file()).toEqual({ k: entry('a', 2) })
})

test.each(['deleted', 'emptied'])(
  'a database that was %s is filled again from sessions.json',
  async (what) => {
    for (let i = 0; i < 10; i++)
      await store.update(`k${i}`, () => entry(`id${i}`, i, { skillsSnapshot: { prompt: 'p', skills: [] } }))
    await store.close()
    const before = file()
    if (what === 'deleted') rmSync(database)
    else truncateSync(database)
    store = open()
    expect((await store.list()).total).toBe(10)
    expect(await store.get('k3')).toEqual(before['k3'])
  },
)

test('a database that is damaged is an error and is left alone', async () => {
  await store.update('k', () => entry('a', 1))
  await store.close()
  const bytes = readFileSync(database)
  bytes.fill(0x55, 0, 4096)
  writeFileSync(database, bytes)
  store = open()
  await expect(store.list()).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining(database),
  })
  await expect(store.update('k', () => entry('b', 2))).rejects.toMatchObject({ code: 'damaged' })
  expect(readFileSync(database)).toEqual(bytes)
})

test('a database with one damaged page: what is needed of it is an error, and nothing is written over it', async () => {
  await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      store.update(`k${i}`, () => entry(`id${i}`, i, { text: 'x'.repeat(300) })),
    ),
  )
  await store.close()
  const bytes = readFileSync(database)
  for (let page = 20; page < 24; page++) bytes.fill(0x55, page * 4096, (page + 1) * 4096)
  writeFileSync(database, bytes)
  store = open()
  const all = async (): Promise<number> => {
    let count = 0
    for await (const _ of store.entries()) count++
    return count
  }
  await expect(all()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining(database) })
  expect(file()['k7']).toMatchObject({ sessionId: 'id7' })
})

test.each(['its first page', 'a page in the middle', 'the file beside it too'])(
  'a damaged database (%s) is rebuilt from all readable data, and set aside',
  async (what) => {
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        store.update(`k${i}`, () => entry(`id-number-${i}`, i, { text: 'x'.repeat(300) })),
      ),
    )
    await store.close()
    for (const i of [3, 4]) writeFileSync(join(dirname(path), `id-number-${i}.jsonl`), '')
    const bytes = readFileSync(database)
    const page = what === 'a page in the middle' ? 20 : 0
    bytes.fill(0x55, page * 4096, (page + 1) * 4096)
    writeFileSync(database, bytes)
    if (what === 'the file beside it too') writeFileSync(path, '{')
    if (what === 'a page in the middle') edit((entries) => void delete entries['k199'])
    const rebuilt = await rebuildSessionDatabase({ agentId: 'main', database, mirror: path })
    store = open()
    expect((await store.list()).total).toBe(what === 'the file beside it too' ? 2 : 200)
    expect(rebuilt.sessions).toBe((await store.list()).total)
    expect(readFileSync(rebuilt.aside)).toEqual(bytes)
  },
)

test('a rebuilt database has no second session for a transcript whose header has another id', async () => {
  await store.update('agent:main:main', () => entry('session-id-1', 1))
  await reopen()
  await store.close()
  const header = { type: 'session', version: 2, id: 'id-in-the-header', timestamp: 'x', cwd: '/' }
  writeFileSync(join(dirname(path), 'session-id-1.jsonl'), `${JSON.stringify(header)}\n`)
  await rebuildSessionDatabase({ agentId: 'main', database, mirror: path })
  store = open()
  expect((await store.list()).sessions.map(({ key }) => key)).toEqual(['agent:main:main'])
})

test('a database that another process has open is not rebuilt', async () => {
  await store.update('k', () => entry('a', 1))
  const other = spawn('sh', ['-c', 'exec 9<"$1"; echo ready; sleep 30', 'sh', database], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(other.stdout, 'data')
  const rebuilding = rebuildSessionDatabase({ agentId: 'main', database, mirror: path })
  await expect(rebuilding).rejects.toMatchObject({
    code: 'busy',
    message: expect.stringContaining(String(other.pid)),
    hint: `End that process (\`kill ${other.pid}\`) and try again.`,
  })
  other.kill('SIGKILL')
})

test('while another program holds the lock of the file, rows are updated all the same', async () => {
  await store.update('k', () => entry('a', 1))
  await reopen()
  writeFileSync(`${path}.lock`, JSON.stringify({ pid: process.pid, startedAt: Date.now() }))
  // Its holder lives: who needs the lock waits in vain.
  await store.update('k', (one) => ({ ...one!, updatedAt: 2 }))
  expect(await store.get('k')).toMatchObject({ updatedAt: 2 })
  rmSync(`${path}.lock`)
})

test('a process that ends leaves a large file to a process of its own, and the file follows', async () => {
  const large = 'x'.repeat(100_000)
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => store.update(`k${i}`, () => entry(`id${i}`, i, { large }))),
  )
  // The writer of the file waits for its lock; closing the store does not wait.
  await new FileLock(path).hold('test', async () => {
    await store.close()
    expect(existsSync(path)).toBe(false)
  })
  await expect.poll(() => existsSync(path) && Object.keys(file()).length, soon).toBe(30)
  await expect
    .poll(() => readdirSync(dirname(path)).filter((name) => name.includes('.lock')), soon)
    .toEqual([])
  store = open()
  expect(await store.damage()).toEqual([])
})
