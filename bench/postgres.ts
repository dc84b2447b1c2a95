// What sharing one PostgreSQL costs and gives: two machines against one, and rows when there are many.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { startPostgres } from '../test/postgres.ts'
import { aMessage, anInput } from '../test/work-store-contract.ts'
import type { BenchResult } from './result.ts'

const cap = 2
const turnMs = 50

export async function bench(): Promise<BenchResult[]> {
  const server = await startPostgres()
  if (!server) throw new Error('PostgreSQL is not installed')
  try {
    return [await twoMachines(server.url), ...(await manyRows(server.url))]
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

async function throughput(url: string, machines: number, schema: string): Promise<number> {
  const postgres = connect(url, schema)
  const work = postgresWork(postgres, systemClock)
  const count = 240
  for (let n = 0; n < count; n++) await work.inbox.accept(inputOf(n))
  const workers = Array.from({ length: machines }, (_, n) => startWorker(url, schema, `m${n}`))
  await Promise.all(workers.map((worker) => once(worker.stdout!, 'data')))
  const began = performance.now()
  for (const worker of workers) worker.stdin!.write('go\n')
  while (await isAnyLeft(postgres)) await new Promise((resolve) => setTimeout(resolve, 50))
  const seconds = (performance.now() - began) / 1_000
  for (const worker of workers) worker.stdin!.write('end\n')
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
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

function startWorker(url: string, schema: string, name: string): ChildProcess {
  const script = join(import.meta.dirname, '../test/machine-worker.ts')
  return spawn(process.execPath, [script, url, schema, name, String(cap), String(turnMs)], {
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
      updates.few.push(await timed(() => touch(few.sessions, n % 100)))
      updates.many.push(await timed(() => touch(many.sessions, (n * 251) % 100_000)))
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
    how: 'read, change and write, medians of 400 each, taken in turn',
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

async function touch(sessions: PostgresSessions, n: number): Promise<void> {
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
