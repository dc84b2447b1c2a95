// What schedules cost: the built gateway, idle, without any and with 10,000 of them, and adding one more over its RPC.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Schedule } from '../src/domain/schedule.ts'
import { insertRow } from '../src/store/sqlite/queries.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import { openClient, startGateway, type BenchGateway } from './gateway/program.ts'
import type { BenchResult } from './result.ts'

const count = 10_000
const idleMs = 30_000
const added = 50
/** The unit of /proc/<pid>/stat. */
const tickMs = 10

export async function bench(): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-bench-schedules-'))
  try {
    const without = await withGateway(dir, idlePercent)
    await fill(dir)
    return await withGateway(dir, async (gateway) => [
      idleResult(without, await idlePercent(gateway)),
      await adding(gateway),
    ])
  } finally {
    rmSync(dir, { recursive: true })
  }
}

async function withGateway<T>(dir: string, use: (gateway: BenchGateway) => Promise<T>): Promise<T> {
  const gateway = await startGateway(dir)
  try {
    return await use(gateway)
  } finally {
    await gateway.stop()
  }
}

async function fill(dir: string): Promise<void> {
  const database = openStateDatabase(join(dir, 'rockpool.sqlite'))
  await database.write((q) => {
    for (let n = 0; n < count; n++) {
      const row = schedule(n)
      const columns = { id: row.id, name: row.name, agent_id: row.agentId, next_at: row.nextDue }
      insertRow(q, 'schedule', { ...columns, record: JSON.stringify(row) })
    }
  })
  await database.close()
}

function schedule(n: number): Schedule {
  const now = Date.now()
  return {
    id: `s${n}`,
    name: `schedule-${n}`,
    agentId: 'main',
    author: 'owner',
    when: { kind: 'cron', cron: '0 9 * * *', timeZone: 'Europe/Berlin' },
    action: { kind: 'turn', text: 'look' },
    jitterSeconds: 0,
    missed: 'once',
    overlap: 'skip',
    createdAt: now,
    nextDue: now + 3_600_000 + n * 1_000,
  }
}

/** After the work of the start has ended. */
async function idlePercent({ pid }: BenchGateway): Promise<number> {
  await pause(10_000)
  const before = processorMs(pid)
  await pause(idleMs)
  return ((processorMs(pid) - before) / idleMs) * 100
}

/** Of all threads. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

function idleResult(without: number, withSchedules: number): BenchResult {
  return {
    name: `processor time of an idle gateway with ${count} schedules`,
    measured: `${withSchedules.toFixed(2)} % of a core (without any: ${without.toFixed(2)} %)`,
    wanted: 'below 0.5 %',
    ok: withSchedules < 0.5,
    how: `the built gateway, ${idleMs / 1_000} s without a due time, user and system time of the process`,
  }
}

async function adding({ wsUrl, token }: BenchGateway): Promise<BenchResult> {
  const client = await openClient(wsUrl, token)
  const times: number[] = []
  for (let n = 0; n < added; n++) {
    const from = performance.now()
    await client.call('schedules.add', { when: 'daily 9:00', text: `Look ${n}` })
    times.push(performance.now() - from)
  }
  client.socket.close()
  const median = times.toSorted((a, b) => a - b)[added / 2]!
  return {
    name: `adding a schedule to ${count}`,
    measured: `${median.toFixed(1)} ms`,
    wanted: 'one synced commit, below 20 ms',
    ok: median < 20,
    how: `schedules.add over the RPC of the gateway, the median of ${added}, one after another`,
  }
}
