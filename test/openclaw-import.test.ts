// Taking over the sessions of real OpenClaws: two of the file era, one of the SQLite era.
import {
  cpSync,
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
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { configSchema } from '../src/domain/config.ts'
import { silentLog } from '../src/domain/log.ts'
import type { SessionEntry } from '../src/domain/session.ts'
import { importOpenClaw } from '../src/store/openclaw/openclaw-import.ts'
import type { OpenClawImportReport } from '../src/store/openclaw/openclaw-import.ts'
import { statePaths } from '../src/store/paths.ts'
import type { SessionStore } from '../src/store/session-store.ts'
import { openSessionStore } from '../src/store/open.ts'

const fixtures = 'test/fixtures/openclaw'
let root: string
let openclaw: string
let stores: Map<string, SessionStore>

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-import-'))
  openclaw = join(root, 'openclaw')
  stores = new Map()
})
afterEach(async () => {
  for (const store of stores.values()) await store.close()
  rmSync(root, { recursive: true, force: true })
})

const paths = () => statePaths(join(root, 'state'))
const parts = () => ({ config: configSchema.parse({}), paths: paths(), clock: systemClock, log: silentLog })

function sessions(agentId: string): SessionStore {
  const store = stores.get(agentId) ?? openSessionStore(agentId, parts())
  stores.set(agentId, store)
  return store
}

const run = (dryRun = false): Promise<OpenClawImportReport> =>
  importOpenClaw(openclaw, {
    dryRun,
    clock: systemClock,
    sessions,
    folder: (agentId) => paths().sessions(agentId),
  })

function copyFiles(version: string): Record<string, SessionEntry> {
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  cpSync(join(fixtures, version), folder, { recursive: true })
  return JSON.parse(readFileSync(join(folder, 'sessions.json'), 'utf8')) as Record<string, SessionEntry>
}

test.each(['real-2026.1.30', 'real-2026.2.26', 'made-by-peer-code/agents/main/sessions'])(
  'everything of %s arrives, and a second run changes nothing',
  async (version) => {
    const theirs = copyFiles(version)
    const before = snapshot(openclaw)
    const dry = await run(true)
    expect(existsSync(paths().root)).toBe(false)
    const report = await run()
    expect({ ...report, dryRun: true }).toEqual(dry)
    expect(report.agents[0]).toMatchObject({
      sessions: { added: Object.keys(theirs).length, changed: 0, kept: 0 },
    })
    for (const [key, entry] of Object.entries(theirs)) {
      const { sessionFile: _, ...expected } = entry
      expect(await sessions('main').get(key)).toMatchObject(expected)
    }
    const files = readdirSync(join(openclaw, 'agents/main/sessions')).filter(
      (name) => name.includes('.jsonl') && !name.endsWith('.example'),
    )
    for (const name of files) {
      const copy = join(paths().sessions('main'), name)
      expect(readFileSync(copy)).toEqual(readFileSync(join(openclaw, 'agents/main/sessions', name)))
      expect(statSync(copy).mode & 0o777).toBe(0o600)
    }
    expect((await run()).agents[0]).toMatchObject({
      sessions: { added: 0, changed: 0 },
      transcripts: { added: 0 },
    })
    expect(snapshot(openclaw)).toEqual(before)
  },
)

test('older forms of keys become those that we write, unless that is another session', async () => {
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'sessions.json'),
    JSON.stringify({
      main: { sessionId: 'older', updatedAt: 1 },
      'agent:main:main': { sessionId: 'today', updatedAt: 2 },
      'agent:main:telegram:dm:1001': { sessionId: 'direct', updatedAt: 3 },
      'agent:codex:main': { sessionId: 'not-ours', updatedAt: 3 },
      broken: 17,
    }),
  )
  const { agents } = await run()
  expect((await sessions('main').get('agent:main:main'))!.sessionId).toBe('today')
  expect((await sessions('main').get('main'))!.sessionId).toBe('older')
  expect((await sessions('main').get('agent:main:telegram:direct:1001'))!.sessionId).toBe('direct')
  expect(agents[0]!.problems).toEqual([
    'the entry of broken is not an object',
    'main is an older form of agent:main:main, which is another session; both are kept',
    'agent:codex:main belongs to another agent than main',
  ])
})

test('a row that says that a sub-agent is running is imported without the run', async () => {
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const key = 'agent:main:subagent:1'
  const subagentRun = { runId: 'r', state: 'running', parentAgentId: 'main', askedBy: 'owner', until: 9e15 }
  const row = { sessionId: 'child', updatedAt: 1, spawnedBy: 'agent:main:main', subagentRun }
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify({ [key]: row }))
  await run()
  expect(await sessions('main').get(key)).toEqual({
    sessionId: 'child',
    updatedAt: 1,
    spawnedBy: 'agent:main:main',
  })
})

test('what is here and newer stays; a transcript that differs stays; links are left out', async () => {
  const theirs = copyFiles('real-2026.1.30')
  const [key, entry] = Object.entries(theirs)[0]!
  await sessions('main').update(key, () => ({ sessionId: 'ours', updatedAt: entry.updatedAt + 1 }))
  writeFileSync(join(paths().sessions('main'), `${entry.sessionId}.jsonl`), 'ours\n')
  symlinkSync('/etc/passwd', join(openclaw, 'agents/main/sessions/evil-link.jsonl'))
  const { agents } = await run()
  expect((await sessions('main').get(key))!.sessionId).toBe('ours')
  expect(readFileSync(join(paths().sessions('main'), `${entry.sessionId}.jsonl`), 'utf8')).toBe('ours\n')
  expect(existsSync(join(paths().sessions('main'), 'evil-link.jsonl'))).toBe(false)
  expect(agents[0]!.problems).toEqual([
    expect.stringContaining('evil-link.jsonl is not a regular file'),
    `${entry.sessionId}.jsonl is here already and is not the same; ours stays`,
    'main is an older form of agent:main:main, which is another session; both are kept',
    expect.stringMatching(
      new RegExp(`^${key} is another conversation here; the newer one, ours, .*${entry.sessionId}\\.jsonl`),
    ),
  ])
})

test('a store that cannot be read is a problem in the report; its transcripts still arrive', async () => {
  copyFiles('real-2026.1.30')
  writeFileSync(join(openclaw, 'agents/main/sessions/sessions.json'), '{"agent:main:main": {')
  const { agents } = await run()
  expect(agents[0]!.problems).toEqual([expect.stringContaining('cannot be read')])
  expect(agents[0]!.transcripts.added).toBeGreaterThan(3)
})

test('a directory that is no OpenClaw is refused', async () => {
  await expect(run()).rejects.toMatchObject({ code: 'not-found' })
})

test('an import again after the source has grown takes the new lines, too; what went on here stays as it is', async () => {
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const header = '{"type":"session","version":3,"id":"grown-id","timestamp":"x","cwd":"/"}\n'
  for (const id of ['grown-id', 'ours-too']) writeFileSync(join(folder, `${id}.jsonl`), `${header}one\n`)
  writeFileSync(join(folder, 'sessions.json'), '{}')
  await run()
  const here = (id: string): string => join(paths().sessions('main'), `${id}.jsonl`)
  for (const id of ['grown-id', 'ours-too']) writeFileSync(join(folder, `${id}.jsonl`), `${header}one\ntwo\n`)
  writeFileSync(here('ours-too'), `${header}one\nours\n`)
  expect((await run(true)).agents[0]!.transcripts).toMatchObject({ changed: 1, kept: 1 })
  expect(readFileSync(here('grown-id'), 'utf8')).toBe(`${header}one\n`)
  const { agents } = await run()
  expect(agents[0]!.transcripts).toMatchObject({ added: 0, changed: 1, kept: 1 })
  expect(agents[0]!.problems).toEqual(['ours-too.jsonl is here already and is not the same; ours stays'])
  expect(readFileSync(here('grown-id'), 'utf8')).toBe(`${header}one\ntwo\n`)
  expect(statSync(here('grown-id')).mode & 0o777).toBe(0o600)
  expect(readFileSync(here('ours-too'), 'utf8')).toBe(`${header}one\nours\n`)
})

test('a row whose label is taken here arrives without the label, and the report says so', async () => {
  await sessions('main').update('agent:main:ours', () => ({ sessionId: 'a', updatedAt: 1, label: 'work' }))
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const theirs = { 'agent:main:main': { sessionId: 'b', updatedAt: 2, label: 'work', model: 'm' } }
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify(theirs))
  const { agents } = await run()
  expect(agents[0]!.sessions).toMatchObject({ found: 1, added: 1 })
  expect(agents[0]!.problems).toEqual([
    expect.stringMatching(/^agent:main:main is imported without its label: .*"work".*agent:main:ours/),
  ])
  const stored = await sessions('main').get('agent:main:main')
  expect(stored).toMatchObject({ sessionId: 'b', model: 'm' })
  expect(stored!.label).toBeUndefined()
})

test('a packed archive arrives unpacked; one that cannot be unpacked is a problem in the report', async () => {
  makeDatabase()
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const name = 'deleted-id.jsonl.deleted.2026-09-06T10-00-00.000Z'
  const text = '{"type":"session","version":3,"id":"deleted-id","timestamp":"x","cwd":"/"}\n'
  writeFileSync(join(folder, `${name}.zst`), zstdCompressSync(text))
  writeFileSync(join(folder, `not-packed.jsonl.deleted.2026-09-06T10-00-00.000Z.zst`), 'x')
  const { agents } = await run()
  expect(readFileSync(join(paths().sessions('main'), name), 'utf8')).toBe(text)
  expect(agents[0]!.problems).toEqual([expect.stringContaining('not-packed.jsonl')])
  expect(agents[0]!.sessions.added).toBe(2)
  expect(readdirSync(paths().sessions('main')).filter((file) => file.endsWith('.tmp'))).toEqual([])
})

test('a session keeps the chat that its last message came from', async () => {
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const route = { channel: 'telegram', lastChannel: 'telegram', lastTo: '1001', lastAccountId: 'work' }
  const row = { sessionId: 'b', updatedAt: 1_700_000_000_000, ...route }
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify({ 'agent:main:main': row }))
  await run()
  expect(await sessions('main').get('agent:main:main')).toMatchObject(route)
})

test('a row whose time is in the future replaces nothing here; a new one gets the time of the import', async () => {
  const route = { lastChannel: 'telegram', lastTo: '1001' }
  const before = Date.now()
  await sessions('main').update('agent:main:main', () => ({ sessionId: 'a', updatedAt: before, ...route }))
  const folder = join(openclaw, 'agents', 'main', 'sessions')
  mkdirSync(folder, { recursive: true })
  const theirs = { sessionId: 'b', updatedAt: 9e15, lastInteractionAt: 9e15, lastTo: 'elsewhere' }
  const both = { 'agent:main:main': theirs, 'agent:main:other': theirs }
  writeFileSync(join(folder, 'sessions.json'), JSON.stringify(both))
  const { agents } = await run()
  expect(agents[0]!.sessions).toEqual({ found: 2, added: 1, changed: 0, kept: 1 })
  expect(agents[0]!.problems).toContain('agent:main:main has a time in the future and replaces nothing here')
  expect(await sessions('main').get('agent:main:main')).toMatchObject({ sessionId: 'a', ...route })
  const added = (await sessions('main').get('agent:main:other'))!
  for (const time of [added.updatedAt, added.lastInteractionAt!]) {
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(Date.now())
  }
  expect((await run()).agents[0]!.sessions).toEqual({ found: 2, added: 0, changed: 0, kept: 2 })
})

test('an agent folder that cannot be read is a problem of that folder; the other agents arrive', async () => {
  copyFiles('real-2026.1.30')
  const agents = join(openclaw, 'agents')
  mkdirSync(join(agents, 'a strange name', 'sessions'), { recursive: true })
  mkdirSync(join(agents, 'file'))
  writeFileSync(join(agents, 'file', 'sessions'), 'no folder')
  mkdirSync(join(agents, 'broken', 'agent'), { recursive: true })
  writeFileSync(join(agents, 'broken', 'agent', 'openclaw-agent.sqlite'), 'no database')
  const report = await run()
  const problems = report.agents.map((agent) => [agent.agentId, agent.problems.length])
  expect(problems).toEqual([
    ['a strange name', 1],
    ['broken', 1],
    ['file', 1],
    ['main', 1],
  ])
  expect(report.agents[0]!.problems[0]).toMatch(/a strange name was left out: .*not an agent id/)
  expect(report.agents[3]!.sessions.added).toBeGreaterThan(0)
})

test('a packed record that unpacks to more than 64 MiB is refused, and the other transcripts arrive', async () => {
  makeDatabase()
  const db = new DatabaseSync(join(openclaw, 'agents/main/agent/openclaw-agent.sqlite'))
  db.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON')
  const insert = 'INSERT INTO transcript_events (session_id, seq, created_at, event_zstd) VALUES (?, 1, 1, ?)'
  db.prepare(insert).run('earlier-id', zstdCompressSync(Buffer.alloc(80 * 1024 * 1024)))
  db.close()
  const { agents } = await run()
  expect(agents[0]!.problems).toEqual([expect.stringMatching(/^earlier-id.*unpacks to more than 64 MiB/)])
  expect(agents[0]!.transcripts).toMatchObject({ found: 3, added: 2 })
})

test('the SQLite era is read without changing it: rows, columns that were part of the row, packed transcripts', async () => {
  const ids = makeDatabase()
  const before = snapshot(openclaw)
  const { agents } = await run()
  expect(agents[0]).toMatchObject({
    kind: 'sqlite',
    sessions: { found: 2, added: 2 },
    transcripts: { found: 3, added: 3 },
    problems: [],
  })
  const main = (await sessions('main').get('agent:main:main'))!
  expect(main).toMatchObject({
    sessionId: ids[0],
    displayName: 'Hello from the harness',
    deliveryContext: { to: '+15555550123' },
    origin: { to: '+15555550123' },
    lastTo: '+15555550123',
  })
  expect(main.skillsSnapshot?.prompt).toContain('specialized instructions')
  const archived = (await sessions('main').list({ archived: true })).sessions
  expect(archived.map((session) => session.key)).toEqual(['agent:main:incident-42'])
  for (const id of ids) {
    const expected = readFileSync(join(fixtures, `real-2026.9.6/transcript_events.${id}.jsonl`), 'utf8')
    const copy = readFileSync(join(paths().sessions('main'), `${id}.jsonl`), 'utf8')
    expect(copy).toBe(expected.replace('"version":4', '"version":3'))
  }
  expect(
    readdirSync(paths().sessions('main')).filter((name) => name.startsWith('earlier-id.jsonl.reset.')),
  ).toHaveLength(1)
  expect(snapshot(openclaw)).toEqual(before)
})

/** The database of a real OpenClaw 2026.9.6, made from its schema and the rows that it held. */
function makeDatabase(): string[] {
  const folder = join(openclaw, 'agents', 'main', 'agent')
  mkdirSync(folder, { recursive: true })
  const db = new DatabaseSync(join(folder, 'openclaw-agent.sqlite'))
  const schema = readFileSync(join(fixtures, 'real-2026.9.6/openclaw-agent.schema-23.sql'), 'utf8')
  const table = (name: string): string =>
    new RegExp(`CREATE TABLE ${name} \\([\\s\\S]*?\\n\\)[^;]*;`).exec(schema)![0]
  db.exec('PRAGMA foreign_keys = OFF')
  for (const name of ['session_nodes', 'transcript_events']) db.exec(table(name))
  const nodes = JSON.parse(readFileSync(join(fixtures, 'real-2026.9.6/session_nodes.json'), 'utf8')) as Array<
    Record<string, string>
  >
  for (const node of nodes) {
    const columns = Object.keys(node)
    db.prepare(`INSERT INTO session_nodes (${columns.join()}) VALUES (${columns.map(() => '?').join()})`).run(
      ...Object.values(node),
    )
  }
  const insert = db.prepare(
    'INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_zstd, event_utf8_bytes, navigation_json) VALUES (?, ?, ?, 1, ?, ?, ?)',
  )
  const navigation = JSON.stringify({
    version: 1,
    report: { kind: 'canonical' },
    navigation: {},
    reset: {},
    model: {},
    modelBytes: 1,
  })
  db.exec('PRAGMA ignore_check_constraints = ON')
  for (const { current_session_id: id } of nodes) {
    const lines = readFileSync(join(fixtures, `real-2026.9.6/transcript_events.${id}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n')
    lines.forEach((line, seq) => {
      if (seq % 2 === 0) insert.run(id!, seq, line, null, null, null)
      else insert.run(id!, seq, null, zstdCompressSync(line), Buffer.byteLength(line), navigation)
    })
  }
  insert.run('earlier-id', 0, '{"type":"session","version":4,"id":"earlier-id"}', null, null, null)
  db.close()
  return nodes.map((node) => node['current_session_id']!)
}

function snapshot(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Object.fromEntries(
    files.map((file) => [
      join(file.parentPath, file.name),
      readFileSync(join(file.parentPath, file.name), 'base64'),
    ]),
  )
}
