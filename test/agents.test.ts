// Every reader of another agent against sessions that the real programs recorded: each session gives exactly what is known to have
// happened in it, and damage in one file hides no other session.
import { execFileSync, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { openDiscovery } from '../src/discovery/discovery.ts'
import { EditTable } from '../src/discovery/edit-table.ts'
import { hashOfLine } from '../src/discovery/line-hash.ts'
import { claudeReader } from '../src/discovery/agents/claude/claude-files.ts'
import { agentReaders, readerOf } from '../src/discovery/agents/readers.ts'
import type { AgentRecord } from '../src/domain/agent-records.ts'
import { agentHomesOf } from '../src/discovery/agents/agent-homes.ts'
import type { OtherReader, AgentSource, ScannedBefore } from '../src/discovery/agents/contract.ts'
import { emptyListing, type Listing } from '../src/discovery/list-files.ts'
import type { OtherAgent } from '../src/domain/agent.ts'
import { rowsState } from '../src/store/sqlite/session-rows.ts'
import type { DiscoveredSession } from '../src/domain/discovered-session.ts'

const recorded = join(import.meta.dirname, 'fixtures/agents')

interface Truth {
  id: string
  parent: string | null
  parentKind: string | null
  tokens: Tokens
  [name: string]: unknown
}
interface Tokens {
  input: number
  cached: number
  cacheWrite: number
  output: number
  reasoning: number
}
interface TruthSet {
  root: string
  sessions: Truth[]
}

function truthOf(kind: OtherAgent): TruthSet[] {
  return (JSON.parse(readFileSync(join(recorded, kind, 'truth.json'), 'utf8')) as { sets: TruthSet[] }).sets
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'agents-'))
  cpSync(recorded, folder, { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** pi's sessions are below `sessions` in each recorded root. */
function homeIn(kind: OtherAgent, root: string): string {
  return kind === 'pi' ? join(root, 'sessions') : root
}

function list(reader: OtherReader, root: string): { sources: AgentSource[]; listing: Listing } {
  const listing: Listing = { files: [], side: new Map(), unreadable: [] }
  reader.list(homeIn(reader.kind, root), listing)
  return { sources: listing.files as AgentSource[], listing }
}

const kinds = agentReaders.map(({ kind }) => kind)
const sets = agentReaders.flatMap(({ kind }) => truthOf(kind).map((set) => ({ kind, ...set })))

describe.each(sets)('$kind in $root', ({ kind, root, sessions }) => {
  const reader = readerOf(kind)

  test('every session gives what happened in it', () => {
    const { sources, listing } = list(reader, join(folder, kind, root))
    const found = sources.map((source) => told(reader, source, listing))
    const byId = new Map(found.map((session) => [session.id, session]))
    expect(found).toHaveLength(sessions.length)
    for (const truth of sessions) expect(byId.get(truth.id)).toMatchObject(expected(kind, truth))
    expect(listing.unreadable).toEqual([])
  })

  test('the scan counts the same tokens, and reads nothing as damaged', () => {
    const { sources } = list(reader, join(folder, kind, root))
    const facts = sources.map((source) => reader.scan(source).facts)
    for (const { id, tokens, prompts, replies, compactions } of sessions) {
      const own = facts.find((scanned) => (scanned.threadId ?? scanned.sessionId) === id)!
      expect(own.cacheReadTokens).toBe(tokens.cached)
      expect(own.cacheCreationTokens).toBe(tokens.cacheWrite)
      expect(own.inputTokens).toBe(tokens.input - tokens.cached - tokens.cacheWrite)
      expect(own.outputTokens).toBe(tokens.output)
      expect(own.promptCount).toBe(prompts)
      expect(own.replyCount).toBe(replies)
      expect(own.compactionCount).toBe(compactions)
      expect(own.damagedLines).toBe(0)
    }
  })
})

/** What the recorded truth says, in the words of the contract. */
function expected(kind: OtherAgent, truth: Truth): Record<string, unknown> {
  const same = ['id', 'cwd', 'lastCwd', 'models', 'title', 'firstPrompt', 'firstPromptInFile', 'prompts']
  const counted = [
    'replies',
    'toolCalls',
    'editedFiles',
    'tokens',
    'inherited',
    'tokensByModel',
    'compactions',
  ]
  const rest = ['interrupted', 'errors', 'cost', 'archived']
  const wanted = [...same, ...counted, ...rest].filter((name) => name in truth)
  const branch = truth['branch'] ?? undefined
  const time = (value: unknown): unknown =>
    typeof value === 'number' ? new Date(value).toISOString() : (value ?? undefined)
  return {
    ...Object.fromEntries(wanted.map((name) => [name, truth[name] ?? undefined])),
    branch,
    // Which session an opencode fork copied is found by comparing sessions, not by reading one.
    ...(kind === 'opencode' && truth.parentKind === 'fork' ? {} : parentOf(kind, truth)),
    startedAt: time(truth['startedAt']),
    lastAt: time(truth['lastAt']),
  }
}

function parentOf(kind: OtherAgent, { parent, parentKind }: Truth): Record<string, unknown> {
  const id = kind === 'pi' ? parent?.replace(/^.*Z_|\.jsonl$/g, '') : parent
  return { parentKind: parentKind ?? undefined, parent: id ?? undefined }
}

const nothing: Tokens = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** The records of a session, added up. */
// oxlint-disable-next-line max-lines-per-function -- one field after the other
function told(reader: OtherReader, source: AgentSource, listing: Listing) {
  const { records, damaged } = reader.read(source)
  expect(damaged).toBe(0)
  const of = <Kind extends AgentRecord['kind']>(kind: Kind) =>
    records.filter((record): record is Extract<AgentRecord, { kind: Kind }> => record.kind === kind)
  const own = <T extends AgentRecord>(some: T[]): T[] => some.filter(({ inherited }) => !inherited)
  const about = of('session').map((record) => record.about)
  const last = <T>(values: Array<T | undefined>): T | undefined =>
    values.findLast((value) => value !== undefined)
  const id = last(about.map((one) => one.id))!
  const side = listing.side.get(id)
  const prompts = of('prompt')
  const usage = own(of('usage'))
  const byModel: Record<string, Tokens> = {}
  for (const one of usage) {
    const sum = added([byModel[one.model] ?? nothing, tokensOf(one)])
    if (Object.values(sum).some((count) => count > 0)) byModel[one.model] = sum
  }
  const calls: Record<string, number> = {}
  for (const { name } of own(of('tool-call'))) calls[name] = (calls[name] ?? 0) + 1
  const ends = own(of('turn-end'))
  const firstPrompt = own(prompts).find(({ text }) => text)?.text
  const times = records.map(({ at }) => at).filter(Boolean)
  const { facts } = reader.scan(source)
  const cost = usage.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
  return {
    id,
    parent: last(about.map(({ parent }) => parent))?.id,
    parentKind: last(about.map(({ parent }) => parent))?.kind,
    cwd: about.find(({ cwd }) => cwd !== undefined)?.cwd,
    lastCwd: last(about.map(({ cwd }) => cwd)),
    branch: last(about.map(({ branch }) => branch)),
    models: [...new Set(own(of('model')).map(({ model }) => model))],
    title: side?.customTitle ?? (last(about.map(({ title }) => title)) || firstPrompt),
    firstPrompt,
    firstPromptInFile: prompts.find(({ text }) => text)?.text,
    prompts: own(prompts).length,
    replies: own(of('answer')).length,
    toolCalls: calls,
    editedFiles: [...new Set(own(of('edit')).map(({ path }) => path))],
    tokens: added(usage.map(tokensOf)),
    inherited: added(
      of('usage')
        .filter((one) => one.inherited)
        .map(tokensOf),
    ),
    tokensByModel: byModel,
    compactions: own(of('compaction')).length,
    interrupted: ends.filter(({ outcome }) => outcome === 'interrupted').length,
    errors: ends
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ error }) => errorOf(reader.kind, error)),
    cost: Math.round(cost * 1e9) / 1e9,
    archived: side?.archived ?? false,
    startedAt: facts.firstTimestamp,
    lastAt: times.length === 0 ? undefined : facts.lastTimestamp,
  }
}

/** pi's messages begin with the status of the answer; Codex reports some errors as objects. */
function errorOf(kind: OtherAgent, error = ''): unknown {
  if (kind === 'pi') return error.slice(0, 3)
  return error.startsWith('{') ? JSON.parse(error) : error
}

function tokensOf(usage: Extract<AgentRecord, { kind: 'usage' }>): Tokens {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage
  return { input: input + cacheRead + cacheWrite, cached: cacheRead, cacheWrite, output, reasoning }
}

function added(parts: Tokens[]): Tokens {
  const sum = { ...nothing }
  for (const part of parts)
    for (const name of Object.keys(sum) as Array<keyof Tokens>) sum[name] += part[name]
  return sum
}

describe('what a scan continues and what it leaves alone', () => {
  test.each(['codex', 'pi'] as const)(
    '%s: a file that grows in steps gives the same facts and edits',
    (kind) => {
      const reader = readerOf(kind)
      const { root } = freshHome(kind)
      for (const source of list(reader, root).sources) {
        const whole = reader.scan(source)
        const bytes = readFileSync(source.path)
        writeFileSync(source.path, '')
        let before: ScannedBefore | undefined
        for (let end = 0; end < bytes.length;) {
          const from = end
          end = Math.min(bytes.length, end + Math.ceil(bytes.length / 3))
          appendFileSync(source.path, bytes.subarray(from, end))
          const scanned = reader.scan(source, before)
          before = { ...scanned, facts: JSON.parse(JSON.stringify(scanned.facts)) }
        }
        expect(before!.facts).toEqual(JSON.parse(JSON.stringify(whole.facts)))
        expect(before!.edits.edits).toEqual(whole.edits.edits)
      }
    },
  )

  test.each(kinds)('%s: the lines that a session added are found again', (kind) => {
    const reader = readerOf(kind)
    for (const { root, sessions } of truthOf(kind)) {
      const { sources } = list(reader, join(folder, kind, root))
      const tables = new Map(
        sources.map((source) => {
          const { facts, edits } = reader.scan(source)
          return [facts.threadId ?? facts.sessionId, new EditTable(edits.pack()).edits] as const
        }),
      )
      for (const { id, editedFiles } of sessions) {
        const files = new Set(tables.get(id)!.map(({ file }) => file))
        expect([...files].sort(), id).toEqual(((editedFiles ?? []) as string[]).toSorted())
      }
    }
    const { sources } = list(reader, join(folder, kind, truthOf(kind)[0]!.root))
    const all = sources.flatMap((source) => reader.scan(source).edits.edits)
    const linesOf = (file: string): number[] =>
      all.filter((edit) => edit.file.endsWith(file)).flatMap(({ lines }) => [...lines])
    expect(linesOf('/greet.js')).toContain(hashOfLine('export const greet = name => `Hello, ${name}`;'))
    expect(linesOf('/README.md')).toContain(hashOfLine('See greet.js.'))
    // A line that only surrounds the change was not added.
    expect(linesOf('/README.md')).not.toContain(hashOfLine('# demo'))
    for (const { seconds } of all) expect(seconds).toBeGreaterThan(1_794_000_000)
  })

  test('a rollout that Codex rewrote in place is read again from its beginning', () => {
    const [, , legacy, migrated] = truthOf('codex')
    const reader = readerOf('codex')
    const { id, file } = legacy!.sessions[0]!
    const path = join(mkdtempSync(join(folder, 'rewritten-')), `rollout-${id}.jsonl`)
    const source = { path, agentKind: 'codex' } as AgentSource
    cpSync(join(recorded, 'codex', legacy!.root, String(file)), path)
    const before = reader.scan(source)
    cpSync(join(recorded, 'codex', migrated!.root, String(file)), path)
    const { facts } = reader.scan(source, before)
    expect(facts).toEqual(reader.scan(source).facts)
    expect(facts.outputTokens).toBe(migrated!.sessions.find((session) => session.id === id)!.tokens.output)
  })

  test('a compressed rollout gives the same facts as the plain one', () => {
    const packed = join(folder, 'codex/compressed')
    const [name] = readdirSync(packed)
    const reader = readerOf('codex')
    const { facts } = reader.scan({ path: join(packed, name!), agentKind: 'codex' } as AgentSource)
    const truth = truthOf('codex')[3]!.sessions.find(({ id }) => name!.includes(id))!
    expect(facts.outputTokens).toBe(truth.tokens.output)
    expect(facts.damagedLines).toBe(0)
  })

  test("opencode's database is read while opencode writes, and stays as it was", async () => {
    const home = mkdtempSync(join(folder, 'busy-'))
    cpSync(join(recorded, 'opencode/hot-wal'), home, { recursive: true })
    const path = join(home, 'opencode.db')
    const writer = new DatabaseSync(path)
    writer.exec('BEGIN IMMEDIATE')
    writer.exec(`UPDATE session SET title = 'not committed'`)
    const bytes = (): string[] => [path, `${path}-wal`].map((file) => hash('sha1', readFileSync(file)))
    const before = bytes()
    const { list: found } = await discovered([{ kind: 'opencode', path: home }])
    expect(found.sessions.map(({ title }) => title)).toEqual(
      truthOf('opencode')[1]!.sessions.map((s) => s['title']),
    )
    expect(bytes()).toEqual(before)
    writer.exec('COMMIT')
    writer.close()
  })

  test("a view in opencode's database, which may never end, is not read, and a value without measure is left out", async () => {
    const view = mkdtempSync(join(folder, 'view-'))
    const long = mkdtempSync(join(folder, 'long-'))
    for (const home of [view, long]) cpSync(join(recorded, 'opencode/hot-wal'), home, { recursive: true })
    const change = (home: string, sql: string): void => {
      const db = new DatabaseSync(join(home, 'opencode.db'))
      db.exec(`PRAGMA foreign_keys = OFF; ${sql}`)
      db.close()
    }
    change(
      view,
      `DROP TABLE session; CREATE VIEW session AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
         SELECT x AS id, '' AS title, 1 AS time_updated, 0 AS time_archived FROM n LIMIT 100000`,
    )
    change(long, `UPDATE session SET title = zeroblob(70000000), revert = CAST(zeroblob(70000000) AS TEXT)`)
    const homes = [view, long].map((path) => ({ kind: 'opencode' as const, path }))
    const { list: found } = await discovered(homes)
    expect(found.unreadable).toMatchObject([{ path: join(view, 'opencode.db') }])
    expect(found.sessions.map(({ title }) => title)).toEqual(found.sessions.map(() => undefined))
    expect(found.sessions).toHaveLength(truthOf('opencode')[1]!.sessions.length)
    const { sessionId } = found.sessions[0]!
    expect(() => rowsState({ database: join(long, 'opencode.db'), sessionId })).toThrow('too long to be kept')
  })

  test.each([
    [
      'a table of full-text search that reads a view',
      `DROP TABLE session; CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
         SELECT x AS rowid, x AS id, '' AS title, 1 AS time_updated, 0 AS time_archived FROM n LIMIT 100000;
       CREATE VIRTUAL TABLE session USING fts5(id, title, time_updated, time_archived, content = 'endless')`,
    ],
    [
      'a column that is computed when it is read',
      `DROP TABLE part; CREATE TABLE part (id TEXT, session_id TEXT, message_id TEXT, time_updated INT,
         data TEXT GENERATED ALWAYS AS (printf('%.*c', 1000000, 'x')) VIRTUAL)`,
    ],
  ])("%s in opencode's database is not read", async (_, sql) => {
    const home = mkdtempSync(join(folder, 'computed-'))
    cpSync(join(recorded, 'opencode/hot-wal'), home, { recursive: true })
    const database = join(home, 'opencode.db')
    const db = new DatabaseSync(database)
    db.exec(`PRAGMA foreign_keys = OFF; ${sql}`)
    db.close()
    const { list: found } = await discovered([{ kind: 'opencode', path: home }])
    expect(found.unreadable).toMatchObject([{ path: database }])
    expect(found.sessions).toEqual([])
    expect(() => rowsState({ database, sessionId: 'ses_1' })).toThrow('computes its values')
  })

  test("many sessions and messages without an index in opencode's database are listed at once", async () => {
    const home = mkdtempSync(join(folder, 'no-index-'))
    const db = new DatabaseSync(join(home, 'opencode.db'))
    const upTo = (most: number): string =>
      `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${most})`
    db.exec(`CREATE TABLE session (id TEXT, title TEXT, time_updated INT, time_archived INT, directory TEXT);
      CREATE TABLE message (id TEXT, session_id TEXT, time_updated INT, data TEXT);
      CREATE TABLE part (id TEXT, session_id TEXT, message_id TEXT, data TEXT);
      ${upTo(20_000)} INSERT INTO session SELECT 'ses_' || x, 't', 1, NULL, '/tmp' FROM n;
      ${upTo(100_000)} INSERT INTO message SELECT 'msg_' || x, 'ses_' || (x % 7), 2, '{}' FROM n`)
    db.close()
    const listing = emptyListing()
    readerOf('opencode').list(home, listing)
    expect(listing.files).toHaveLength(20_000)
    const counts = new Map(listing.files.map(({ path, size }) => [path.split('#')[1], size]))
    expect([counts.get('ses_1'), counts.get('ses_8')]).toEqual([14_286, 0])
  })

  test('an old session of opencode is read from its own folders, whatever id its file names', () => {
    const home = mkdtempSync(join(folder, 'old-'))
    const write = (path: string, content: object): void => {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), JSON.stringify(content))
    }
    const message = { role: 'user', time: { created: 1 } }
    write('storage/session/project/ses_own.json', { id: '../../elsewhere', title: 'old' })
    write('storage/message/ses_own/msg_own.json', message)
    write('storage/part/msg_own/prt_own.json', { type: 'text', text: 'own' })
    write('elsewhere/msg_other.json', message)
    write('storage/part/msg_other/prt_other.json', { type: 'text', text: 'of another program' })
    const { sources } = list(readerOf('opencode'), home)
    const { records } = readerOf('opencode').read(sources[0]!)
    expect(records.flatMap((record) => (record.kind === 'prompt' ? [record.text] : []))).toEqual(['own'])
  })

  test('a fork of opencode names the session that it copied', async () => {
    const { home, sessions } = freshHome('opencode')
    const { list: found } = await discovered([{ kind: 'opencode', path: home }])
    const forks = sessions.filter(({ parentKind }) => parentKind === 'fork')
    expect(forks.length).toBeGreaterThan(0)
    for (const { id, parent } of forks)
      expect(found.sessions.find(({ sessionId }) => sessionId === id)?.forkedFrom).toBe(parent)
  })

  test("a session with the id of another agent's session hides neither", async () => {
    const codex = freshHome('codex')
    const taken = codex.sessions.find(({ parentKind }) => !parentKind)!.id
    const pi = mkdtempSync(join(folder, 'same-id-'))
    const header = { type: 'session', version: 3, id: taken, timestamp: '2026-11-16T10:00:00.000Z', cwd: '/' }
    const message = { role: 'user', content: 'Take its place.' }
    const entry = { type: 'message', id: '1', timestamp: '2026-11-16T10:00:01.000Z', message }
    writeFileSync(join(pi, 'x.jsonl'), `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`)
    const homes = [
      { kind: 'pi', path: pi },
      { kind: 'codex', path: codex.home },
    ] as const
    const { list: found } = await discovered([...homes])
    const same = found.sessions.filter(({ sessionId }) => sessionId.startsWith(taken))
    expect(same.map(({ agentKind }) => agentKind).sort()).toEqual(['codex', 'pi'])
  })

  test('a session whose id is an option or controls a terminal is not listed, and hides no other', async () => {
    const id = '--dangerously-bypass-approvals-and-sandbox'
    const codex = freshHome('codex')
    const pi = mkdtempSync(join(folder, 'option-id-'))
    const timestamp = '2026-11-16T10:00:00.000Z'
    const meta = { timestamp, type: 'session_meta', payload: { id, timestamp, cwd: '/' } }
    const said = { timestamp, type: 'event_msg', payload: { type: 'user_message', message: 'Go on.' } }
    const linesOf = (...records: object[]): string =>
      records.map((record) => `${JSON.stringify(record)}\n`).join('')
    writeFileSync(join(codex.home, 'sessions', 'rollout-x.jsonl'), linesOf(meta, said))
    const message = { role: 'user', content: 'Go on.' }
    writeFileSync(
      join(pi, `${id}.jsonl`),
      linesOf(
        { type: 'message', id: '1', timestamp, message },
        { type: 'message', id: '2', timestamp, message },
      ),
    )
    const header = { type: 'session', version: 3, id: '\x1b]52;c;', timestamp, cwd: '/' }
    writeFileSync(join(pi, 'x.jsonl'), linesOf(header, { type: 'message', id: '1', timestamp, message }))
    const { list: found } = await discovered([
      { kind: 'codex', path: codex.home },
      { kind: 'pi', path: pi },
    ])
    expect(found.sessions.filter(({ sessionId }) => /^-|\x1b/.test(sessionId))).toEqual([])
    expect(found.sessions.length).toBeGreaterThan(1)
    const left = [
      join(codex.home, 'sessions', 'rollout-x.jsonl'),
      join(pi, `${id}.jsonl`),
      join(pi, 'x.jsonl'),
    ]
    expect(found.unreadable?.map(({ path }) => path).sort()).toEqual(left.sort())
  })

  test.each(['codex', 'gemini', 'opencode'] as const)(
    '%s: sub-agents are listed and read one by one',
    async (kind) => {
      const { home, sessions } = freshHome(kind)
      const truths = sessions.filter(({ parentKind }) => parentKind === 'subagent')
      expect(truths.length).toBeGreaterThan(0)
      const discovery = openDiscovery({
        configDirs: [],
        agentHomes: [{ kind, path: home }],
        indexFile: ':memory:',
        registries: [],
        clock: systemClock,
        log: silentLog,
      })
      for (const { id, parent, replies } of truths) {
        const { sessionId } = await discovery.get(String(parent)).catch(() => ({ sessionId: '' }))
        // The sub-agent of a sub-agent belongs to the session of the person.
        if (sessionId === '') continue
        expect((await discovery.subagents(sessionId)).map((one) => one.id)).toContain(id)
        const { records } = await discovery.conversation(sessionId, id)
        const own = records.filter((record) => record.kind === 'answer' && !record.inherited)
        expect(own).toHaveLength(Number(replies))
      }
      await discovery.close()
    },
  )

  test('a Codex thread is live while a process holds its lock', async () => {
    const { home, sessions } = freshHome('codex')
    const { id } = sessions.find(({ parentKind, archived }) => !parentKind && !archived)!
    mkdirSync(join(home, 'thread-writer-locks'))
    const lock = join(home, 'thread-writer-locks', `${id}.lock`)
    writeFileSync(lock, '')
    const stateOf = async () => {
      const { list: found } = await discovered([{ kind: 'codex', path: home }])
      return found.sessions.filter(({ isRunning }) => isRunning).map(({ sessionId }) => sessionId)
    }
    expect(await stateOf()).toEqual([])
    const holder = spawn('flock', [lock, 'sh', '-c', 'echo held; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(holder.stdout, 'data')
    expect(await stateOf()).toEqual([id])
    holder.stdin.end()
    await once(holder, 'exit')
    expect(await stateOf()).toEqual([])
  })

  test('Claude Code is one of the readers: list, scan and records of its sessions agree', async () => {
    const home = join(import.meta.dirname, 'fixtures/claude-code')
    const listing = emptyListing()
    claudeReader.list(home, listing)
    const own = listing.files.filter(({ kind }) => kind === 'session')
    expect(own.length).toBeGreaterThan(10)
    for (const file of own) {
      const { facts, edits } = claudeReader.scan(file)
      const { records } = await claudeReader.read(file)
      const current = records.filter(({ rewound }) => !rewound)
      const prompts = records.filter(({ kind }) => kind === 'prompt').length
      expect(facts.promptCount, file.path).toBeGreaterThanOrEqual(Math.min(1, prompts))
      const usage = records.filter((record) => record.kind === 'usage')
      expect(usage.length === 0, file.path).toBe(facts.replyCount === 0)
      const edited = new Set(current.flatMap((record) => (record.kind === 'edit' ? [record.path] : [])))
      const indexed = new Set(edits.edits.map((edit) => edit.file))
      for (const path of edited) expect(indexed.has(path), `${file.path} ${path}`).toBe(true)
    }
    expect(claudeReader.resumeCommand('x')).toEqual(['claude', '--resume', 'x'])
  })

  test('a session without a lock is live while its program runs in its folder and has changed it', async () => {
    const { home } = freshHome('pi')
    const cwd = mkdtempSync(join(folder, 'project-'))
    const write = (id: string): void => {
      const timestamp = new Date().toISOString()
      const header = { type: 'session', version: 3, id, timestamp, cwd }
      const entry = { type: 'message', id: '1', timestamp, message: { role: 'user', content: 'Hello' } }
      writeFileSync(join(home, `${id}.jsonl`), `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`)
    }
    const running = async (): Promise<string[]> => {
      const { list: found } = await discovered([{ kind: 'pi', path: home }])
      return found.sessions.filter(({ isRunning }) => isRunning).map(({ sessionId }) => sessionId)
    }
    write('before')
    utimesSync(join(home, 'before.jsonl'), 1_790_000_000, 1_790_000_000)
    // A process has the name of its file.
    const program = join(mkdtempSync(join(folder, 'bin-')), 'pi')
    cpSync('/bin/cat', program)
    const process = spawn(program, [], { cwd, stdio: ['pipe', 'ignore', 'ignore'] })
    await once(process, 'spawn')
    expect(await running()).toEqual([])
    write('since')
    await vi.waitFor(async () => expect(await running()).toEqual(['since']))
    process.stdin.end()
    await once(process, 'exit')
    expect(await running()).toEqual([])
  })

  test.each(kinds)('%s: a change is known at once while the sessions are watched', async (kind) => {
    const { home } = freshHome(kind)
    const discovery = openDiscovery({
      configDirs: [],
      agentHomes: [{ kind, path: home }],
      indexFile: ':memory:',
      registries: [],
      clock: systemClock,
      log: silentLog,
    })
    const changed: string[] = []
    const stop = await discovery.watch((id) => changed.push(id))
    try {
      const [session] = (await discovery.list({ agentKind: kind })).sessions
      changeSession(kind, home, session!)
      await vi.waitFor(() => expect(changed).toContain(session!.sessionId), 5_000)
    } finally {
      await stop()
      await discovery.close()
    }
  })

  test('variables move the homes of every agent, and several may be named', () => {
    const variables = {
      CODEX_HOME: '/a/codex,~/codex',
      GEMINI_CLI_HOME: '/a/gemini',
      XDG_DATA_HOME: '/a/data',
      OPENCODE_DB: '/a/other.db',
      PI_CODING_AGENT_DIR: '/a/pi',
      PI_CODING_AGENT_SESSION_DIR: '/a/flat',
    }
    const homes = agentHomesOf(
      { home: '/h', variables },
      { agentHomes: { pi: ['/b'] }, onlyConfigured: false },
    )
    expect(homes.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'codex /a/codex',
      'codex /h/codex',
      'codex /h/.codex',
      'gemini /a/gemini/.gemini',
      'gemini /h/.gemini',
      'opencode /a/other.db',
      'opencode /a/data/opencode',
      'opencode /h/.local/share/opencode',
      'pi /a/flat',
      'pi /a/pi/sessions',
      'pi /h/.pi/agent/sessions',
      'pi /b',
    ])
  })
})

test('costs count each token once over all agents, and name models without a price', async () => {
  const homes = kinds.map((kind) => ({ kind, path: freshHome(kind).home }))
  const { costs } = await discovered(homes)
  const all = kinds.flatMap((kind) => truthOf(kind)[0]!.sessions)
  const output = all.reduce((sum, { tokens }) => sum + tokens.output, 0)
  expect(costs.totals.outputTokens).toBe(output)
  expect(costs.unpriced).toContain('gpt-6.1-sol')
})

/** The sessions of the current version of each agent, in a folder of their own. */
function freshHome(kind: OtherAgent): { root: string; sessions: Truth[]; home: string } {
  const set = truthOf(kind)[0]!
  const root = mkdtempSync(join(folder, `${kind}-`))
  cpSync(join(recorded, kind, set.root), root, { recursive: true })
  return { root, sessions: set.sessions, home: homeIn(kind, root) }
}

/** As the agent itself changes it: a line more, or another time in the database. */
function changeSession(kind: OtherAgent, home: string, { filePath, sessionId }: DiscoveredSession): void {
  if (kind !== 'opencode') return appendFileSync(filePath, '{"type":"note"}\n')
  const writer = new DatabaseSync(join(home, 'opencode.db'))
  writer.prepare('UPDATE session SET time_updated = time_updated + 5000 WHERE id = ?').run(sessionId)
  writer.close()
}

async function discovered(homes: Array<{ kind: OtherAgent; path: string }>, indexFile = ':memory:') {
  await using closing = {
    discovery: openDiscovery({
      configDirs: [],
      agentHomes: homes,
      indexFile,
      registries: [],
      clock: systemClock,
      log: silentLog,
    }),
    async [Symbol.asyncDispose]() {
      await this.discovery.close()
    },
  }
  const list = await closing.discovery.list({ agentKind: 'all' })
  const costs = await closing.discovery.costs()
  return { list, costs, discovery: closing.discovery }
}

describe.each(kinds)('damage among the sessions of %s', (kind) => {
  const reader = readerOf(kind)
  let sound: DiscoveredSession[]
  let victimId: string
  beforeAll(async () => {
    const { sessions, home } = freshHome(kind)
    sound = (await discovered([{ kind, path: home }])).list.sessions
    // A session that is no parent and no sub-agent, so that damage in it cannot change another one.
    const parents = new Set(sessions.map(({ parent }) => parent))
    const isAlone = ({ id, parentKind, archived }: Truth): boolean =>
      !parentKind && !archived && !parents.has(id)
    victimId = sessions.find(isAlone)!.id
  })

  test.each(damages(kind))('$name hides no other session and is reported', async ({ damage }) => {
    const { root, home } = freshHome(kind)
    const { sources } = list(reader, root)
    damage(sources.find((source) => reader.read(source).records.some((record) => isOf(record, victimId)))!)
    const { list: after } = await discovered([{ kind, path: home }])
    const found = new Map(after.sessions.map((session) => [session.sessionId, session]))
    for (const session of sound)
      if (session.sessionId !== victimId) expect(found.get(session.sessionId)).toMatchObject(seen(session))
    const damaged = after.sessions.filter(({ damagedLines }) => damagedLines > 0)
    expect(damaged.length + after.unreadable!.length).toBeGreaterThan(0)
  })
})

function isOf(record: AgentRecord, id: string): boolean {
  return record.kind === 'session' && record.about.id === id
}

/** What a list shows of a session, without its place. */
function seen(session: DiscoveredSession): Partial<DiscoveredSession> {
  const { filePath: _filePath, configDir: _configDir, lastModified: _lastModified, ...shown } = session
  return shown
}

/** The folder that has all sessions of a recorded root. */
const sessionFolders = { codex: 'sessions', gemini: 'tmp', pi: 'sessions' } as const

test.each(['codex', 'gemini', 'pi'] as const)(
  'no session of %s is read from a folder that is a link, wherever it is below the folder of the sessions',
  (kind) => {
    const root = join(folder, 'linked', kind)
    const moved = join(folder, 'moved', kind)
    const fill = (): void => cpSync(join(recorded, kind, truthOf(kind)[0]!.root), root, { recursive: true })
    fill()
    const top = join(root, sessionFolders[kind])
    const folders = readdirSync(top, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name))
    const listedIn = (path: string): number =>
      list(readerOf(kind), root).sources.filter((source) => source.path.startsWith(`${path}/`)).length
    const withSessions = folders.filter((path) => listedIn(path) > 0)
    expect(withSessions).not.toEqual([])
    for (const path of withSessions) {
      cpSync(path, moved, { recursive: true })
      rmSync(path, { recursive: true })
      symlinkSync(moved, path)
      expect(listedIn(path), path).toBe(0)
      for (const used of [root, moved]) rmSync(used, { recursive: true })
      fill()
    }
  },
)

interface Damage {
  name: string
  damage: (victim: AgentSource) => void
}

function damages(kind: OtherAgent): Damage[] {
  if (kind === 'opencode') return databaseDamages
  return [
    { name: 'a torn last line', damage: ({ path }) => appendFileSync(path, '{"type":"message","id":"') },
    {
      name: 'two lines glued by a crash',
      damage: ({ path }) =>
        appendFileSync(path, `${'{"timestamp":"2026-11-16T10:00:00Z","ty'.repeat(2)}\n{}\n`),
    },
    { name: 'a file of zeros', damage: ({ path }) => writeFileSync(path, Buffer.alloc(5_000)) },
    { name: 'a file cut in its first line', damage: ({ path }) => truncateSync(path, 40) },
    {
      name: 'a link to a device in its place',
      damage({ path }) {
        rmSync(path)
        symlinkSync('/dev/zero', path)
        appendFileSync(besides(path), 'no JSON\n')
      },
    },
    {
      name: 'a pipe beside it',
      damage({ path }) {
        execFileSync('mkfifo', [besides(path, '2')])
        appendFileSync(path, 'no JSON\n')
      },
    },
    {
      name: 'another session with its id',
      damage({ path }) {
        cpSync(path, besides(path))
        appendFileSync(besides(path), '[1,2]\n')
      },
    },
    {
      name: 'values of other types and depths than the agent writes',
      damage({ path }) {
        const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
        const odd = ['{"type":"message","message":7,"id":{},"timestamp":[]}', `{"payload":${deep}}`, '"text"']
        const huge =
          '{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":1e400}}}}'
        appendFileSync(path, `${[...odd, huge, '{"__proto__":{"kind":"session"}}'].join('\n')}\n`)
      },
    },
  ]
}

function besides(path: string, more = '1'): string {
  return path.replace(/([0-9a-f]{3})\.jsonl$/, (_, end: string) => `${end.slice(0, 2)}${more}.jsonl`)
}

function inDatabase(victim: AgentSource, sql: string): void {
  const [path, id] = victim.path.split('#')
  const db = new DatabaseSync(path!)
  db.prepare(sql).run(id!)
  db.close()
}

const databaseDamages: Damage[] = [
  {
    name: 'a message that is no JSON',
    damage: (victim) =>
      inDatabase(victim, `UPDATE message SET data = '{"role"', time_updated = 9 WHERE session_id = ?`),
  },
  {
    name: 'a part that is no JSON',
    damage: (victim) => inDatabase(victim, `UPDATE part SET data = 'x' WHERE session_id = ?`),
  },
  {
    name: 'a database of another program beside it',
    damage({ configDir }) {
      const db = new DatabaseSync(join(configDir, 'opencode-next.db'))
      db.exec('CREATE TABLE session (other TEXT)')
      db.close()
    },
  },
  {
    name: 'a damaged database beside it',
    damage: ({ configDir }) => writeFileSync(join(configDir, 'opencode-dev.db'), Buffer.alloc(9_000, 7)),
  },
  {
    name: 'a damaged session of an older version',
    damage({ configDir }) {
      const path = join(configDir, 'storage/session/project/ses_damaged.json')
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, '{"id":"ses_dam')
    },
  },
]
