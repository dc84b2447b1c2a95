// What sharing one PostgreSQL costs and gives: two machines against one, and rows when there are many.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Machines } from '../src/coding/machines/machines.ts'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { claudeEntries } from '../src/store/postgres/claude-transcripts.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { sharedMachines } from '../src/store/postgres/machine-records.ts'
import { Members } from '../src/store/postgres/members.ts'
import { SharedRecords } from '../src/store/postgres/records.ts'
import { CodingStore } from '../src/store/sqlite/coding-store.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { aMessage, anInput } from '../test/support/work-store-contract.ts'
import { ProcessorLimit } from './postgres/processor-limit.ts'
import type { BenchResult } from './result.ts'

const cap = 2
const turnMs = 50
const messages = 240
/** Of one processor, for each process: then two processes and PostgreSQL do not need all processors. */
const limitedShare = 0.15

export async function bench(): Promise<BenchResult[]> {
  const server = await startPostgres()
  if (!server) throw new Error('PostgreSQL is not installed')
  try {
    return [
      await twoMachines(server.url),
      ...(await instantAgent(server.url)),
      ...(await manyRows(server.url)),
      await longTranscript(server.url),
      ...(await betweenMachines(server.url)),
    ]
  } finally {
    await server.stop()
  }
}

function connect(url: string, schema: string): Postgres {
  return new Postgres({ url, schema, clock: systemClock, log: silentLog, maxConnections: 4 })
}

async function twoMachines(url: string): Promise<BenchResult> {
  const one = await throughput(url, 1, 'one')
  const two = await throughput(url, 2, 'two')
  const ratio = two / one
  return {
    name: 'turns a second with two processes against one',
    measured: `${ratio.toFixed(2)}x (${one.toFixed(0)} and ${two.toFixed(0)} a second)`,
    wanted: '>= 1.6x',
    ok: ratio >= 1.6,
    how: `240 messages over 60 chats wait; an offline agent takes ${turnMs} ms a turn, ${cap} turns at once for each process; everything in PostgreSQL`,
  }
}

/** People write to one machine, then to two, and the agent answers at once: how many messages a second, and what each costs. */
async function instantAgent(url: string): Promise<BenchResult[]> {
  const cost = await counted(url, 'instant_one', 100 * 30, () => writtenTo(url, 1, 'instant_one', 100, 30))
  const one = cost.result
  const two = await writtenTo(url, 2, 'instant_two', 100, 30)
  const few = await counted(url, 'few', 200, () => writtenTo(url, 1, 'few', 1, 200))
  const how =
    'in a closed loop, 100 people for each process, 30 messages each; offline agent that answers at once; heartbeats and looks of the process are counted too; PostgreSQL does not wait for the disk (fsync off)'
  return [
    {
      name: 'messages a second with an instant agent, one process',
      measured: one.toFixed(0),
      wanted: '>= 500',
      ok: one >= 500,
      how,
    },
    {
      name: 'the same with two processes',
      measured: `${two.toFixed(0)} (${(two / one).toFixed(2)}x)`,
      wanted: '>= 1.8x',
      ok: two >= one * 1.8,
      how: `${how}; two processes and PostgreSQL share ${availableParallelism()} processors`,
    },
    await withFreeProcessors(url, how),
    {
      name: 'what one message and its answer cost the database under load',
      measured: `${cost.commits.toFixed(1)} commits, ${cost.log.toFixed(1)} kB of log`,
      wanted: '<= 5 commits',
      ok: cost.commits <= 5,
      how,
    },
    {
      name: 'what one message and its answer cost the database, one after another',
      measured: `${few.commits.toFixed(1)} commits, ${few.log.toFixed(1)} kB of log`,
      wanted: '<= 16 commits',
      ok: few.commits <= 16,
      how: 'one person, 200 messages; reads are counted as commits',
    },
  ]
}

/** As above, but each process may use only a share of a processor, so that PostgreSQL and the second process find one free. */
async function withFreeProcessors(url: string, how: string): Promise<BenchResult> {
  const result = {
    name: `the same, each process limited to ${limitedShare} of a processor, so that processors are free`,
    wanted: '>= 1.8x',
    how,
  }
  try {
    const one = await writtenTo(url, 1, 'limited_one', 100, 30, limitedShare)
    const two = await writtenTo(url, 2, 'limited_two', 100, 30, limitedShare)
    const measured = `${(two / one).toFixed(2)}x (${one.toFixed(0)} and ${two.toFixed(0)} a second)`
    return { ...result, measured, ok: two >= one * 1.8 }
  } catch (error) {
    return { ...result, measured: `not measured: ${String(error)}`, ok: true }
  }
}

async function counted<T>(
  url: string,
  schema: string,
  messages: number,
  work: () => Promise<T>,
): Promise<{ result: T; commits: number; log: number }> {
  const postgres = connect(url, schema)
  await postgres.read('SELECT 1')
  const look = async (): Promise<{ commits: number; log: number }> => {
    // The counters of a connection are written down a moment after its last statement.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const [row] = await postgres.read<{ commits: number; log: number }>(
      `SELECT pg_stat_get_db_xact_commit(oid) AS commits, (pg_current_wal_lsn() - '0/0')::bigint AS log
       FROM pg_database WHERE datname = current_database()`,
    )
    return row!
  }
  const before = await look()
  const result = await work()
  const after = await look()
  await postgres.close()
  const each = (of: 'commits' | 'log'): number => (after[of] - before[of]) / messages
  return { result, commits: each('commits'), log: each('log') / 1_024 }
}

/** People write to so many machines at the same time; resolves to messages a second over all of them. */
async function writtenTo(
  url: string,
  machines: number,
  schema: string,
  people: number,
  each: number,
  share?: number,
): Promise<number> {
  const limits =
    share === undefined ? [] : Array.from({ length: machines }, (_, n) => new ProcessorLimit(`${n}`, share))
  const workers = Array.from({ length: machines }, (_, n) =>
    startWorker(url, schema, `m${n}`, 100, 0, people, each),
  )
  await Promise.all(workers.map((worker) => once(worker.stdout!, 'data')))
  for (const [n, limit] of limits.entries()) limit.add(workers[n]!.pid!)
  const rates = workers.map(async (worker) => {
    worker.stdin!.write('go\n')
    const [rate] = (await once(worker.stdout!, 'data')) as [Buffer]
    return Number(String(rate))
  })
  const sum = (await Promise.all(rates)).reduce((total, rate) => total + rate, 0)
  await endAll(workers)
  for (const limit of limits) limit.remove()
  return sum
}

async function endAll(workers: ChildProcess[]): Promise<void> {
  for (const worker of workers) worker.stdin!.write('end\n')
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
}

async function longTranscript(url: string): Promise<BenchResult> {
  const postgres = connect(url, 'long')
  const rows = <Row>(sql: string, values: unknown[]): Promise<Row[]> => postgres.read<Row>(sql, values)
  const store = claudeEntries(rows, 'claude_entry')
  const key = { projectKey: 'p', sessionId: 's' }
  const entryOf = (n: number) => ({ type: 'user', uuid: `u-${n}`, message: { content: 'x'.repeat(1_000) } })
  for (let n = 0; n < 10_000; n += 500)
    await store.append(
      key,
      Array.from({ length: 500 }, (_, i) => entryOf(n + i)),
    )
  const taken: number[] = []
  for (let n = 0; n < 10; n++) taken.push(await timed(() => store.load(key)))
  await postgres.close()
  const ms = median(taken)
  return {
    name: "Claude's transcript of 10,000 entries (10 MB) brought to another machine, p50",
    measured: `${ms.toFixed(0)} ms`,
    wanted: '<= 1000 ms',
    ok: ms <= 1_000,
    how: 'loaded from the SessionStore, 10 times',
  }
}

/** From one machine to another and back, as a launch goes; what the other does is not counted. */
async function betweenMachines(url: string): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-request-'))
  const [here, there] = await Promise.all(['here', 'there'].map((name) => openMachine(url, folder, name)))
  there!.machines.open({ echo: async (_recipient, { n }) => n })
  await there!.machines.announce()
  const taken: number[] = []
  for (let n = 0; n < 20; n++) taken.push(await timed(() => here!.machines.ask('there', 'echo', { n })))
  const perSecond = await changes([here!, there!])
  await Promise.all([here!, there!].map((machine) => machine.close()))
  rmSync(folder, { recursive: true, force: true })
  const ms = median(taken)
  return [
    {
      name: 'a request to another machine and back, p50',
      measured: `${ms.toFixed(0)} ms`,
      wanted: '<= 1000 ms',
      ok: ms <= 1_000,
      how: '20 requests one after the other, each announced by NOTIFY',
    },
    {
      name: 'changes of coding sessions that two machines write and copy',
      measured: `${perSecond.toFixed(0)} a second`,
      wanted: '>= 50 a second',
      ok: perSecond >= 50,
      how: 'both change four records each at once, 400 times in all, and have every change of the other in their copy',
    },
  ]
}

async function changes(machines: Array<{ store: CodingStore }>): Promise<number> {
  const count = 400
  const writers = machines.flatMap(({ store }, m) => [0, 1, 2, 3].map((n) => ({ store, id: `m${m}w${n}` })))
  const ms = await timed(() =>
    Promise.all(
      writers.map(async ({ store, id }) => {
        for (let n = 0; n < count / writers.length; n++) await store.markOwner(id, n)
      }),
    ),
  )
  return count / (ms / 1_000)
}

async function openMachine(
  url: string,
  folder: string,
  name: string,
): Promise<{ machines: Machines; store: CodingStore; close(): Promise<void> }> {
  const [clock, log] = [systemClock, silentLog]
  const postgres = connect(url, 'requests')
  const members = new Members(postgres, { machine: name, labels: [], serves: true, clock, log })
  await members.join()
  const copy = openStateDatabase(join(folder, `${name}.sqlite`))
  const records = new SharedRecords({ postgres, members, copy, clock, log })
  records.follow()
  const store = new CodingStore(copy, { records })
  const directory = sharedMachines({ postgres, records }, { name, labels: [] })
  const machines = new Machines({ store, clock, log, directory, possible: async () => [], variables: {} })
  return {
    machines,
    store,
    async close() {
      machines.close()
      await records.close()
      await members.close()
      await postgres.close()
      await copy.close()
    },
  }
}

async function throughput(url: string, machines: number, schema: string): Promise<number> {
  const postgres = connect(url, schema)
  const work = postgresWork(postgres, systemClock)
  const count = messages
  for (let n = 0; n < count; n++) await work.inbox.accept(inputOf(n))
  const workers = Array.from({ length: machines }, (_, n) => startWorker(url, schema, `m${n}`, cap, turnMs))
  await Promise.all(workers.map((worker) => once(worker.stdout!, 'data')))
  const began = performance.now()
  for (const worker of workers) worker.stdin!.write('go\n')
  while (await isAnyLeft(postgres)) await new Promise((resolve) => setTimeout(resolve, 50))
  const seconds = (performance.now() - began) / 1_000
  await endAll(workers)
  await postgres.close()
  return count / seconds
}

async function isAnyLeft(postgres: Postgres): Promise<boolean> {
  const left = await postgres.read(`SELECT 1 FROM inbox WHERE state IN ('waiting', 'running') LIMIT 1`)
  return left.length > 0
}

function inputOf(n: number) {
  const person = `p${n % 60}`
  const address = { channel: 'memory', accountId: 'default', to: person }
  const message = aMessage(n, { address, sender: { id: person }, text: `message ${n}` })
  return anInput(n, `agent:main:memory:direct:${person}`, { message })
}

function startWorker(url: string, schema: string, name: string, ...numbers: number[]): ChildProcess {
  const script = join(import.meta.dirname, '../test/support/machine-worker.ts')
  return spawn(process.execPath, [script, url, schema, name, ...numbers.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function manyRows(url: string): Promise<BenchResult[]> {
  const few = await filled(url, 'few', 100)
  const many = await filled(url, 'many', 100_000)
  try {
    const lists: number[] = []
    for (let n = 0; n < 200; n++) lists.push(await timed(() => many.sessions.list({ limit: 50 })))
    const updates = { few: [] as number[], many: [] as number[] }
    for (let n = 0; n < 400; n++) {
      updates.few.push(await timed(() => touch(few.postgres, n % 100)))
      updates.many.push(await timed(() => touch(many.postgres, (n * 251) % 100_000)))
    }
    return [listed(median(lists)), updated(median(updates.few), median(updates.many))]
  } finally {
    await few.postgres.close()
    await many.postgres.close()
  }
}

function listed(ms: number): BenchResult {
  return {
    name: 'sessions.list with 100,000 sessions, p50',
    measured: `${ms.toFixed(1)} ms`,
    wanted: '<= 10 ms',
    ok: ms <= 10,
    how: 'the newest 50 with the total, 200 times',
  }
}

function updated(few: number, many: number): BenchResult {
  const ratio = many / few
  return {
    name: "a row's update with 100,000 sessions against 100",
    measured: `${ratio.toFixed(2)}x (${few.toFixed(2)} and ${many.toFixed(2)} ms)`,
    wanted: '<= 1.5x',
    ok: ratio <= 1.5,
    how: 'read, change and write of a row that was not read before, medians of 400 each, taken in turn',
  }
}

async function filled(
  url: string,
  schema: string,
  count: number,
): Promise<{ postgres: Postgres; sessions: PostgresSessions }> {
  const postgres = connect(url, `rows_${schema}`)
  // In pieces, as people come: the counters of one transaction must not pile up.
  const piece = 500
  for (let from = 0; from < count; from += piece)
    await postgres.write(
      `INSERT INTO session (agent, key, session_id, updated_at, search_text, entry)
     SELECT 'main', 'agent:main:telegram:direct:' || n, 'id-' || n, n, 'agent:main:telegram:direct:' || n,
       json_build_object('sessionId', 'id-' || n, 'updatedAt', n, 'displayName', repeat('x', 200), 'model', 'm')::text
     FROM generate_series($1::int, $2::int) AS n`,
      [from, Math.min(from + piece, count) - 1],
    )
  await postgres.write('ANALYZE session')
  return { postgres, sessions: new PostgresSessions('main', postgres) }
}

/** As a process that has not read the row before: one that has, reads it only after a conflict. */
async function touch(postgres: Postgres, n: number): Promise<void> {
  const sessions = new PostgresSessions('main', postgres)
  const key = `agent:main:telegram:direct:${n}`
  await sessions.update(key, (entry) => entry && { ...entry, updatedAt: Date.now() })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}
