// PostgreSQL keeps the same contracts as SQLite and files: session rows, transcripts, and what must happen with messages.
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { nameOfOwner } from '../src/coding/machines/owner.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Clock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { ApprovalStore } from '../src/store/sqlite/approval-store.ts'
import { CodingStore } from '../src/store/sqlite/coding-store.ts'
import type { Database } from '../src/store/sqlite/database.ts'
import { SqlitePeople } from '../src/store/sqlite/people.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { tablesFromPostgres, tablesToPostgres } from '../src/store/postgres/copy-tables.ts'
import { sqliteSql } from '../src/store/sqlite/sql.ts'
import { replyMapIn } from '../src/store/tables/reply-map.ts'
import { ScheduleStore } from '../src/store/sqlite/schedule-store.ts'
import { SpendStore } from '../src/store/sqlite/spend-store.ts'
import { sqliteWork } from '../src/store/sqlite/work.ts'
import { Members } from '../src/store/postgres/members.ts'
import { schemaState } from '../src/store/postgres/migrate.ts'
import { PostgresPeople } from '../src/store/postgres/people.ts'
import { SharedRecords } from '../src/store/postgres/records.ts'
import { decisionsIn } from '../src/store/sqlite/decisions.ts'
import { postgresSql } from '../src/store/postgres/sql.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { TranscriptCopies } from '../src/store/postgres/transcript-copies.ts'
import { PostgresTranscripts } from '../src/store/postgres/transcript-store.ts'
import { identifyProcess } from '../src/store/disk/process-identity.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { FileTranscripts } from '../src/store/transcripts/transcript-file.ts'
import type { LaneWork } from '../src/store/work-store.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import { postgresObjects } from '../src/store/postgres/objects.ts'
import { checkObjectStore } from './support/object-store-contract.ts'
import { aCodingSession, codingStoreContract } from './support/coding-store-contract.ts'
import type { CodingStores } from './support/coding-store-contract.ts'
import { copyBackAndForth } from './support/copied.ts'
import { makeMovableClock } from './support/movable-clock.ts'
import { startPostgres } from './support/postgres.ts'
import { mailContract } from './support/mail-contract.ts'
import { tablesContract } from './support/tables-contract.ts'
import { sessionStoreContract } from './support/session-store-contract.ts'
import { said } from './support/talk.ts'
import { transcriptStoreContract } from './support/transcript-store-contract.ts'
import { aDelivery, anInput, workStoreContract } from './support/work-store-contract.ts'

const server = await startPostgres()
const folder = mkdtempSync(join(tmpdir(), 'rockpool-pg-stores-'))
const opened: Array<{ close(): Promise<void> }> = []
let made = 0
const self = identifyProcess(process.pid)!

/** The schema of the contracts: made once and emptied after each test, because making it takes longer than the tests. */
const contracts = 'contracts'
const keeper =
  server && new Postgres({ url: server.url, schema: contracts, clock: systemClock, log: silentLog })

afterEach(async ({ task }) => {
  for (const one of opened.splice(0).reverse()) await one.close()
  if (keeper && task.suite) await empty(keeper)
})

afterAll(async () => {
  await keeper?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Every row at once, without triggers that would count them one by one. */
function empty(postgres: Postgres): Promise<void> {
  return postgres.transaction(async ({ rows }) => {
    await rows('SET LOCAL session_replication_role = replica')
    await rows(`DO $$ DECLARE name text; BEGIN
      FOR name IN SELECT tablename FROM pg_tables
        WHERE schemaname = current_schema() AND tablename NOT IN ('schema_version', 'record_origin')
      LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$`)
  })
}

function connect(schema: string, clock: Clock = systemClock): Postgres {
  const postgres = new Postgres({
    url: server!.url,
    schema,
    clock,
    log: silentLog,
    maxConnections: 6,
    // The contracts ask three hundred times at once, and each waits for one of these connections.
    waits: { connectMs: 60_000 },
  })
  opened.push(postgres)
  return postgres
}

async function join2(
  schema: string,
  machine: string,
  serves = true,
): Promise<{ postgres: Postgres; members: Members }> {
  const postgres = connect(schema)
  const members = new Members(postgres, { machine, labels: [], serves, clock: systemClock, log: silentLog })
  opened.push(members)
  await members.join()
  return { postgres, members }
}

function followedCoding(postgres: Postgres, members: Members): CodingStore {
  const copy = openStateDatabase(join(folder, `copy-${made++}.sqlite`))
  const records = new SharedRecords({ postgres, members, copy, clock: systemClock, log: silentLog })
  opened.push(copy, records)
  records.follow()
  return new CodingStore(copy, { records })
}

/** A gateway without a heartbeat since then. */
async function pretend(
  postgres: Postgres,
  name: string,
  identity: object,
  silence = '0 seconds',
): Promise<void> {
  await postgres.write(
    `INSERT INTO member (id, machine, serves, lock_no, about, seen_at)
     VALUES ($1, $1, true, hashtext($1), $2, now() - $3::interval)`,
    [name, JSON.stringify({ ...identity, host: 'far-away' }), silence],
  )
  await postgres.write(`INSERT INTO lease (name, owner) VALUES ('machine ' || $1, $1)`, [name])
}

transcriptStoreContract(
  'files',
  () => new FileTranscripts({ agentId: 'main', dir: join(folder, `files-${made++}`) }),
)

if (!server) test('PostgreSQL', (ctx) => ctx.skip('PostgreSQL is not installed'))
else {
  const schema = (): string => `stores ${made++}`
  sessionStoreContract('postgres', async () => {
    const postgres = connect(contracts)
    return { open: (agentId) => new PostgresSessions(agentId, postgres) }
  })
  transcriptStoreContract('postgres', () => {
    return new PostgresTranscripts(connect(contracts), {
      agentId: 'main',
      dir: '/nowhere',
      clock: systemClock,
    })
  })
  describe('work in PostgreSQL', () => {
    workStoreContract(async () => {
      let now = 1_000
      const clock = { ...systemClock, now: () => now }
      const open = () => postgresWork(connect(contracts, clock), clock)
      return { work: open(), reopen: async () => open(), at: (time) => (now = time) }
    })
  })
  describe('tables in PostgreSQL', () => {
    tablesContract(async () => {
      let now = 1_000_000
      const clock = { ...systemClock, now: () => now }
      const { postgres, members } = await join2(contracts, `tables-${made++}`)
      const people = new PostgresPeople(postgres, members, { ...clock, after: () => () => {} })
      return { sql: postgresSql(postgres), people, clock, at: (time) => (now = time) }
    })
  })
  describe('mail in PostgreSQL', () => mailContract(async () => postgresSql(connect(contracts))))
  describe('coding sessions in PostgreSQL', () => {
    codingStoreContract(async () => {
      return { here: await codingStores(contracts), other: () => codingStores(contracts) }
    })
  })
  describe('two members', () => twoMembers(schema))
  test('sessions, transcripts and archives go to PostgreSQL and come back equal; a second copy changes nothing', async () => {
    const { before, after, there, again, back } = await copyBackAndForth(server.url, 110)
    // What was replaced by a longer one is kept beside it.
    expect(after.archives.filter((name) => !name.includes('.bak.'))).toEqual(before.archives)
    expect({ ...after, archives: before.archives }).toEqual(before)
    expect(there).toMatchObject({ sessions: 110, archives: 2, problems: [] })
    expect(again).toMatchObject({ sessions: 0, unchanged: 110, transcripts: 0, archives: 0 })
    expect(back.problems).toEqual([])
  }, 60_000)
  test('messages, replies, people and coding sessions go to PostgreSQL and come back equal; a second copy changes nothing', async () => {
    const [here, back] = ['here', 'back'].map((name) => openStateDatabase(join(folder, `${name}.sqlite`)))
    opened.push(here!, back!)
    await fillTables(here!)
    const postgres = connect(schema())
    const there = await tablesToPostgres(here!, postgres, () => {})
    const again = await tablesToPostgres(here!, postgres, () => {})
    expect([there['inbox'], there['outbox'], Object.values(again).every((n) => n === 0)]).toEqual([
      3,
      2,
      true,
    ])
    await tablesFromPostgres(postgres, back!, () => {})
    await tablesFromPostgres(postgres, back!, () => {})
    expect(tablesOf(back!)).toEqual(tablesOf(here!))
    const waiting = await postgresWork(postgres, systemClock).inbox.waiting()
    expect(waiting.map(({ message }) => message.id)).toEqual(['2', '3'])
  }, 30_000)
  test('copies of transcripts follow what is added, set aside and removed, and are whole again after a loss', async () => {
    const postgres = connect(schema())
    const transcripts = new PostgresTranscripts(postgres, {
      agentId: 'main',
      dir: '/nowhere',
      clock: systemClock,
    })
    const say = (sessionId: string, ...words: string[]): Promise<unknown> =>
      transcripts.append({ sessionId }, words.map(said), { cwd: '/' })
    const place = join(folder, 'copies')
    const copies = new TranscriptCopies(postgres, place, systemClock)
    opened.push(copies)
    const texts = async (): Promise<string[]> => {
      await copies.catchUp()
      return copies.all().map(({ path }) => conversationRecords(path))
    }
    await say('one', 'a', 'b')
    await say('two', 'c')
    expect(await texts()).toEqual(['a b', 'c'])
    await say('one', ...Array.from({ length: 1_200 }, (_, n) => `w${n}`))
    expect((await texts()).find((text) => text.startsWith('a'))?.split(' ')).toHaveLength(1_202)
    expect(copies.takeChanges().changed).toHaveLength(3)
    // Somebody has torn the file; the next words bring all of it back.
    truncateSync(copies.all().find(({ sessionId }) => sessionId === 'two')!.path, 10)
    await say('two', 'd')
    expect(await texts()).toContain('c d')
    const archive = await transcripts.archive({ sessionId: 'two' }, 'reset')
    await transcripts.archive({ sessionId: 'one' }, 'deleted')
    expect(await texts()).toEqual(['c d'])
    expect(copies.all()).toMatchObject([{ sessionId: 'two', isArchived: true }])
    await transcripts.discard(archive!)
    expect(await texts()).toEqual([])
    expect(copies.takeChanges()).toMatchObject({
      dropped: [{ sessionId: 'one' }],
      gone: [{ sessionId: 'two' }],
    })
    // A database that was restored from a dump restarts its transaction numbers: what was there is in the future.
    await say('three', 'e')
    await postgres.transaction(async ({ rows }) => {
      await rows('ALTER TABLE transcript DISABLE TRIGGER transcript_changes')
      await rows("UPDATE transcript SET changed = '9000000000000'")
      await rows('ALTER TABLE transcript ENABLE TRIGGER transcript_changes')
    })
    const late = new TranscriptCopies(postgres, join(folder, 'copies-late'), systemClock)
    opened.push(late)
    await late.catchUp()
    expect(late.takeChanges().changed).toHaveLength(1)
    await late.catchUp()
    expect(late.takeChanges().changed).toEqual([])
    const [row] = await postgres.read<{ n: number }>(
      "SELECT count(*) AS n FROM transcript WHERE changed = '9000000000000'",
    )
    expect(row!.n).toBe(0)
  }, 30_000)
  test('machines that start at the same moment make the tables once', async () => {
    const name = schema()
    const all = Array.from({ length: 6 }, () => connect(name))
    await Promise.all(all.map((postgres) => postgres.read('SELECT 1')))
    const { version, known } = await schemaState(all[0]!)
    expect(version).toBe(known)
  })

  test('an update sees what another machine has written since, also a session that was made again', async () => {
    const name = `pg ${made++}`
    const [here, there] = [connect(name), connect(name)].map((one) => new PostgresSessions('main', one))
    const key = 'agent:main:direct:7'
    const ids: string[] = []
    const touch = (sessions: PostgresSessions, sessionId: string): Promise<unknown> =>
      sessions.update(key, (entry) => {
        ids.push(entry?.sessionId ?? 'none')
        return { updatedAt: 1, ...entry, sessionId }
      })
    await touch(here!, 'a')
    await here!.get(key)
    await touch(there!, 'b')
    await touch(here!, 'c')
    await there!.delete(key)
    await touch(there!, 'd')
    await touch(there!, 'e')
    await touch(here!, 'f')
    expect([ids.at(-1), (await there!.get(key))?.sessionId]).toEqual(['e', 'f'])
    expect(ids).toEqual(['none', 'a', 'a', 'b', 'none', 'd', 'c', 'e'])
  })

  test('a newer schema is refused, and left as it is', async () => {
    const name = schema()
    const older = connect(name)
    await older.write('UPDATE schema_version SET version = 99')
    await expect(connect(name).read('SELECT 1')).rejects.toMatchObject({ code: 'schema-newer' })
  })
}

/** What a transcript's file says, in words. */
function conversationRecords(path: string): string {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(1)
  return lines.map((line) => (JSON.parse(line) as { message: { content: string } }).message.content).join(' ')
}

async function fillTables(database: Database): Promise<void> {
  const work = sqliteWork(database, systemClock)
  const first = (await work.inbox.accept(anInput(1)))!
  for (const n of [2, 3]) await work.inbox.accept(anInput(n))
  const turn = {
    lane: first.lane,
    agentId: 'main',
    kind: 'message' as const,
    owner: 'me',
    inputs: [first.id],
  }
  await work.lanes.begin({ id: 't1', ...turn })
  await work.lanes.finish('t1', { end: { kind: 'completed' }, deliveries: [aDelivery(1), aDelivery(2)] })
  await work.systemEvents.add(first.lane, 'twice', 5)
  await replyMapIn(sqliteSql(database)).record(aDelivery(1).address, ['7'], {
    agentId: 'main',
    sessionKey: 'k',
    sentAt: 1,
  })
  const people = new SqlitePeople(database, systemClock)
  const asked = await people.request({ channel: 'telegram', accountId: 'default', senderId: '7' }, 'Ann')
  await people.approve((asked as { code: string }).code, { mayMakeOwner: true })
  const coding = new CodingStore(database)
  await coding.save(aCodingSession('a'))
  await coding.addOutput('a', [{ at: 1, kind: 'text', text: 'said \0 🦞' }])
  await coding.setWatch({ codingId: 'a', channel: 'telegram|1', seenSeq: 1, foreground: true })
  const spend = { id: 'm', at: 1, day: '2026-01-01', agentId: 'main', model: 'm', usd: 0.25, subagent: true }
  await new SpendStore(database).add(spend)
  const grant = { id: 'g', codingId: 'a', tool: 'Bash', pattern: 'ls', grantedAt: 1, grantedBy: 'ann' }
  await new ApprovalStore(database).grant(grant)
}

/** What is in them, without the numbers that a database gives. */
function tablesOf(database: Database): Record<string, unknown[]> {
  const plain = [
    'turn',
    'sent_message',
    'paired_person',
    'coding_session',
    'coding_output',
    'coding_watch',
    'spend',
  ]
  return Object.fromEntries([
    ...[...plain, 'grant_always'].map((name) => [name, database.queries.all(`SELECT * FROM ${name}`)]),
    ['inbox', database.queries.all('SELECT key, state, turn_id, record FROM inbox ORDER BY id')],
    ['outbox', database.queries.all('SELECT id, state, record, resent FROM outbox ORDER BY seq')],
    ['events', database.queries.all('SELECT session_key, text, at FROM system_event')],
  ])
}

/** A machine with a copy of its own, which knows what was written so far. */
async function codingStores(schemaName: string): Promise<CodingStores> {
  const copy = openStateDatabase(join(folder, `copy-${made++}.sqlite`), { durability: 'relaxed' })
  const records = new SharedRecords({
    postgres: connect(schemaName),
    copy,
    clock: systemClock,
    log: silentLog,
  })
  opened.push(copy, records)
  await records.catchUp()
  return {
    coding: new CodingStore(copy, { records, keepBlocks: 10 }),
    approvals: new ApprovalStore(copy, records),
    spend: new SpendStore(copy, records),
    decisions: decisionsIn(copy, records),
    schedules: new ScheduleStore(copy, records),
  }
}

function twoMembers(schema: () => string): void {
  test('a lane is served by one of them, in order, and goes to the other when it is released', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, systemClock, members))
    const first = (await workA!.inbox.accept(anInput(1), true))!
    expect(first).toMatchObject({ laneServer: 'here', hasMoved: false })
    expect(await workB!.inbox.accept(anInput(2), true)).toMatchObject({ laneServer: 'elsewhere' })
    expect(await workB!.share!.take(5, { idle: [], failed: [] })).toEqual([])
    const more = await workA!.share!.take(5, { idle: [], failed: [] })
    expect(more.map(({ input }) => input.message.id)).toEqual(['2'])
    expect(await workA!.share!.take(5, { idle: [], failed: [] })).toEqual([])
    await workA!.share!.take(0, { idle: [], failed: [first.lane] })
    await expect
      .poll(async () => workB!.share!.take(5, { idle: [], failed: [] }), { timeout: 10_000 })
      .toHaveLength(2)
  }, 30_000)

  test('what a member that was buried still writes is refused, and its turn goes to another', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, systemClock, members))
    const sessions = new PostgresSessions('main', a.postgres)
    const input = (await workA!.inbox.accept(anInput(1), true))!
    const turn = {
      lane: input.lane,
      agentId: 'main',
      kind: 'message' as const,
      owner: '',
      inputs: [input.id],
    }
    expect(await workA!.lanes.begin({ id: 't1', ...turn })).toBe(true)
    expect(await workB!.lanes.begin({ id: 't2', ...turn })).toBe(false)
    await b.postgres.write('DELETE FROM member WHERE id = $1', [a.postgres.member])
    const end = { end: { kind: 'completed' as const }, deliveries: [aDelivery(1)] }
    await expect(workA!.lanes.finish('t1', end)).rejects.toMatchObject({ code: 'lock-lost' })
    await expect(sessions.update('k', () => ({ sessionId: 's', updatedAt: 1 }))).rejects.toMatchObject({
      code: 'lock-lost',
    })
    const lost = await workB!.share!.lost([])
    expect(lost).toMatchObject([{ id: 't1', inputs: [{ id: input.id }] }])
    await workB!.lanes.release('t1')
    // What comes now waits behind what was lost.
    expect(await workB!.inbox.accept(anInput(2), true)).toMatchObject({ laneServer: 'nowhere' })
    const again = await workB!.share!.take(1, { idle: [], failed: [] })
    expect(again.map(({ input: { message, lostTurns } }) => [message.id, lostTurns])).toEqual([
      ['1', 1],
      ['2', 0],
    ])
    expect(await workB!.lanes.begin({ id: 't3', ...turn })).toBe(true)
    expect(await workB!.outbox.list()).toEqual([])
  }, 30_000)

  test('a turn that its member forgot is found, also if another member accepts the next message of the lane first', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const clock = makeMovableClock()
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, clock, members))
    const { id, lane } = (await workA!.inbox.accept(anInput(1), true))!
    const turn = { lane, agentId: 'main', kind: 'message' as const, owner: '' }
    expect(await workA!.lanes.begin({ id: 't1', ...turn, inputs: [id] })).toBe(true)
    // The database was away for too long: the turn failed here, and the lane is returned.
    await workA!.share!.take(0, { idle: [], failed: [lane] })
    expect(await workB!.inbox.accept(anInput(2), true)).toMatchObject({ laneServer: 'nowhere' })
    const ownerless = 'SELECT key FROM lane WHERE owner IS NULL'
    expect(await b.postgres.read(ownerless)).toEqual([{ key: lane }])
    // As a Rockpool of an earlier version leaves it.
    await b.postgres.write('UPDATE lane SET owner = $1', [b.postgres.member])
    await clock.advance(30_000)
    expect(await workA!.share!.lost([])).toMatchObject([{ id: 't1' }])
    await workA!.lanes.release('t1')
    const [first] = await workB!.share!.take(5, { idle: [], failed: [] })
    expect(first).toMatchObject({ input: { message: { id: '1' }, lostTurns: 1 } })
  }, 30_000)

  test('no turn begins before what came earlier and was given back', async () => {
    const { postgres, members } = await join2(schema(), 'a')
    const { inbox, lanes, share } = postgresWork(postgres, systemClock, members)
    const [one, two] = [(await inbox.accept(anInput(1), true))!, (await inbox.accept(anInput(2), true))!]
    expect([one.laneServer, two.laneServer]).toEqual(['here', 'here'])
    const turn = { lane: one.lane, agentId: 'main', kind: 'message' as const, owner: '' }
    expect(await lanes.begin({ id: 't1', ...turn, inputs: [one.id] })).toBe(true)
    await lanes.release('t1')
    expect(await lanes.begin({ id: 't2', ...turn, inputs: [two.id] })).toBe(false)
    expect(await inbox.accept(anInput(3), true)).toMatchObject({ laneServer: 'nowhere' })
    await share!.take(0, { idle: [], failed: [one.lane] })
    const again = (): Promise<LaneWork[]> => share!.take(5, { idle: [], failed: [] })
    await expect
      .poll(async () => (await again()).map(({ input }) => input.message.id), { timeout: 10_000 })
      .toEqual(['1', '2', '3'])
    expect(await lanes.begin({ id: 't3', ...turn, inputs: [one.id] })).toBe(true)
  }, 30_000)

  test('a second gateway with the same name is refused; one that was killed has its name again at once', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const error = await join2(name, 'a').catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({
      code: 'locked',
      message: `Another gateway on this database is called a already: process ${process.pid} on ${hostname()}.`,
      hint: expect.stringContaining('machine.name'),
    })
    expect((await a.members.list()).map(({ machine }) => machine)).toEqual(['a'])
    // A command on the same machine is no gateway.
    await join2(name, 'a', false)
    await pretend(a.postgres, 'killed', { ...self, pid: 2 ** 30 })
    // It is never silent for long enough: only its process tells that it is dead.
    const seen = setInterval(() => {
      void a.postgres.write(`UPDATE member SET seen_at = clock_timestamp() WHERE id = 'killed'`)
    }, 200)
    await join2(name, 'killed').finally(() => clearInterval(seen))
    await pretend(a.postgres, 'silent', { ...self, domain: 'elsewhere' }, '10 seconds')
    await join2(name, 'silent')
    await pretend(a.postgres, 'beating', { ...self, domain: 'elsewhere' })
    const beats = setInterval(() => {
      void a.postgres.write(`UPDATE member SET seen_at = clock_timestamp() WHERE id = 'beating'`)
    }, 200)
    await expect(join2(name, 'beating').finally(() => clearInterval(beats))).rejects.toMatchObject({
      code: 'locked',
      message: expect.stringContaining('on far-away'),
    })
    expect((await a.members.list()).filter(({ machine }) => machine === 'beating')).toMatchObject([
      { id: 'beating' },
    ])
  }, 30_000)

  test('a gateway that slept while another took its name writes nothing, and is back when that one is gone', async () => {
    const name = schema()
    const { postgres, members } = await join2(name, 'a')
    const buried = postgres.member
    const b = connect(name)
    await b.transaction(async ({ rows }) => {
      await rows('DELETE FROM member WHERE id = $1', [buried])
      await rows(
        `INSERT INTO member (id, machine, serves, lock_no, about) VALUES ('other', 'a', true, 1, '{"domain":"elsewhere"}')`,
      )
      await rows(`INSERT INTO lease (name, owner) VALUES ('machine a', 'other')`)
    })
    await expect(
      postgresWork(postgres, systemClock, members).share!.take(1, { idle: [], failed: [] }),
    ).rejects.toMatchObject({ code: 'lock-lost' })
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(postgres.member).toBe(buried)
    await b.write(`DELETE FROM member WHERE id = 'other'`)
    await expect.poll(() => postgres.member, { timeout: 20_000 }).not.toBe(buried)
    expect((await members.list()).map(({ id }) => id)).toEqual([postgres.member])
  }, 30_000)

  test('the owner of coding sessions that is buried is dead for everybody at once', async () => {
    const name = schema()
    const [a, b] = [await join2(name, 'a'), await join2(name, 'b')]
    const stores = [a, b].map(({ postgres, members }) => followedCoding(postgres, members))
    const owner = nameOfOwner(self)
    await stores[0]!.markOwner(owner, systemClock.now())
    await expect.poll(() => stores[1]!.ownerSeenAt(owner)).toBeDefined()
    await b.postgres.write(`UPDATE member SET seen_at = now() - interval '1 minute' WHERE id = $1`, [
      a.postgres.member,
    ])
    await b.postgres.write('SELECT bury_dead($1)', [b.postgres.member])
    await expect.poll(() => stores[1]!.ownerSeenAt(owner)).toBeUndefined()
    // It only slept: it is the owner again of everything that was not taken from it.
    await stores[0]!.markOwner(owner, systemClock.now())
    await expect.poll(() => stores[1]!.ownerSeenAt(owner)).toBeDefined()
  }, 30_000)

  test('a reply is sent by one member, and by another one that reaches the account when that one is gone', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, systemClock, members))
    await workA!.share!.setReach(['telegram|default'])
    await workB!.share!.setReach(['telegram|default'])
    expect(await workA!.outbox.add([aDelivery(1)])).toHaveLength(1)
    expect(await workB!.outbox.add([aDelivery(2)])).toEqual([])
    expect(await workB!.outbox.take()).toEqual([])
    await workA!.outbox.leave([aDelivery(3)])
    expect((await workA!.outbox.take()).map((row) => row.delivery.id)).toEqual(['d2', 'd3'])
    expect(await workA!.outbox.take()).toEqual([])
    await workA!.outbox.change('d1', { state: 'sent', messageIds: [] })
    const sentRow = (): Promise<unknown> => b.postgres.read("SELECT xmin::text FROM outbox WHERE id = 'd1'")
    const before = await sentRow()
    await a.members.close()
    expect((await workB!.outbox.take()).map((row) => row.delivery.id)).toEqual(['d2', 'd3'])
    // A member that leaves does not rewrite what it has sent.
    expect(await sentRow()).toEqual(before)
  }, 30_000)

  test('which accounts a member reaches is told again if the database could not store it', async () => {
    const { postgres, members } = await join2(schema(), 'a')
    await postgres.write(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    )
    await postgres.write('CREATE TRIGGER no BEFORE UPDATE OF reach ON member EXECUTE FUNCTION refuse()')
    await expect(members.setReach(['telegram|default'])).rejects.toMatchObject({ message: 'no' })
    await postgres.write('DROP FUNCTION refuse CASCADE')
    const reach = async (): Promise<unknown> => (await members.list())[0]?.reach
    await expect.poll(reach, { timeout: 10_000 }).toEqual(['telegram|default'])
  }, 30_000)

  test("no process gets a reply before all earlier ones, and a dead process's acknowledgements are refused", async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, systemClock, members))
    await workA!.share!.setReach(['telegram|default'])
    await workB!.share!.setReach(['telegram|default'])
    expect(await workA!.outbox.add([aDelivery(1)])).toHaveLength(1)
    await workB!.outbox.add([aDelivery(2)])
    // The second is on its way to us, so the third must wait for it.
    expect(await workA!.outbox.add([aDelivery(3)])).toEqual([])
    expect((await workA!.outbox.take()).map((row) => row.delivery.id)).toEqual(['d2', 'd3'])
    expect((await workA!.outbox.add([aDelivery(4)])).map((row) => row.delivery.id)).toEqual(['d4'])
    await b.postgres.write('DELETE FROM member WHERE id = $1', [a.postgres.member])
    expect((await workB!.outbox.take()).map((row) => row.delivery.id)).toEqual(['d1', 'd2', 'd3', 'd4'])
    await expect.poll(async () => (await a.members.list()).length, { timeout: 20_000 }).toBe(2)
    const attempt = workA!.outbox.change('d1', { state: 'attempting', resent: false })
    await expect(attempt).rejects.toMatchObject({ code: 'lock-lost' })
    expect(await workB!.outbox.get('d1')).toMatchObject({ state: 'queued', attempts: 0 })
  }, 30_000)

  test("a session's replies on two platforms are sent by the process that reaches each of them", async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    const [workA, workB] = [a, b].map(({ postgres, members }) => postgresWork(postgres, systemClock, members))
    await workA!.share!.setReach(['telegram|default'])
    await workB!.share!.setReach(['discord|default'])
    const onDiscord = { address: { channel: 'discord', to: '9', accountId: 'default' } }
    expect(await workA!.outbox.add([aDelivery(1)])).toHaveLength(1)
    expect(await workB!.outbox.add([aDelivery(2, onDiscord)])).toHaveLength(1)
    await workA!.outbox.leave([aDelivery(3, onDiscord)])
    expect((await workB!.outbox.take()).map((row) => row.delivery.id)).toEqual(['d3'])
  }, 30_000)

  test('what is done again because its answer was lost is done once, and gives what the first answer gave', async () => {
    const { postgres, members } = await join2(schema(), 'a')
    const { inbox, lanes, share } = postgresWork(postgres, systemClock, members)
    await share!.setReach(['telegram|default'])
    const { id, lane } = (await inbox.accept(anInput(1), true))!
    const turn = { id: 't1', lane, agentId: 'main', kind: 'message' as const, owner: '', inputs: [id] }
    for (const _ of [1, 2]) expect(await lanes.begin(turn)).toBe(true)
    const end = { end: { kind: 'completed' as const }, deliveries: [aDelivery(1)], sendsFirst: true }
    const [first] = await lanes.finish('t1', end)
    expect(first).toMatchObject({ state: 'attempting', attempts: 1, isMarked: true })
    expect(await lanes.finish('t1', end)).toEqual([first])
  }, 30_000)

  test('a name is held by one member; who may talk is known to all', async () => {
    const name = schema()
    const a = await join2(name, 'a')
    const b = await join2(name, 'b')
    await a.members.hold('telegram-x')
    await expect(b.members.hold('telegram-x')).rejects.toMatchObject({ code: 'locked' })
    const [peopleA, peopleB] = [a, b].map(
      ({ postgres, members }) => new PostgresPeople(postgres, members, systemClock),
    )
    await Promise.all([peopleA!.ready(), peopleB!.ready()])
    const person = { channel: 'telegram', accountId: 'default', senderId: '7' }
    const asked = await peopleA!.request(person, 'Ann')
    expect(await peopleB!.request(person)).toEqual({ kind: 'known' })
    const approved = await peopleB!.approve((asked as { code: string }).code, { mayMakeOwner: true })
    expect(approved).toMatchObject({ owner: true, name: 'Ann' })
    await expect.poll(() => peopleA!.find(person), { timeout: 15_000 }).toEqual(approved)
    await a.members.close()
    await b.members.hold('telegram-x')
  }, 30_000)
}

test('PostgreSQL keeps the objects of a shared vault', async (ctx) => {
  const { url: databaseUrl } = server ?? ctx.skip('PostgreSQL is not installed')
  const environment = { databaseUrl, s3: {} } as Parameters<typeof postgresObjects>[0]['environment']
  const objects = postgresObjects({ environment, clock: systemClock, log: silentLog })
  opened.push(objects)
  await checkObjectStore(objects)
})
