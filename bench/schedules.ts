// What schedules cost: an idle gateway with 10,000 of them, and adding one more.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import type { Schedule } from '../src/domain/schedule.ts'
import { ScheduleRunner } from '../src/schedules/schedule-runner.ts'
import { insertRow, type Database } from '../src/store/sqlite/database.ts'
import { ScheduleStore } from '../src/store/sqlite/schedule-store.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import type { BenchResult } from './result.ts'

const count = 10_000
const idleMs = 20_000
const added = 50

export async function bench(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-bench-schedules-'))
  const database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  await fill(database)
  const store = new ScheduleStore(database)
  try {
    return [await idle(store), await adding(store)]
  } finally {
    await database.close()
    rmSync(folder, { recursive: true })
  }
}

function schedule(n: number): Omit<Schedule, 'id'> {
  const now = Date.now()
  return {
    name: `schedule-${n}`,
    agentId: 'main',
    author: 'owner',
    when: { kind: 'every', everyMs: 86_400_000, from: now },
    action: { kind: 'turn', text: 'look' },
    jitterSeconds: 0,
    missed: 'once',
    overlap: 'skip',
    createdAt: now,
    nextDue: now + 3_600_000 + n * 1_000,
  }
}

function fill(database: Database): Promise<void> {
  return database.write((q) => {
    for (let n = 0; n < count; n++) {
      const row = { ...schedule(n), id: `s${n}` }
      const columns = { id: row.id, name: row.name, agent_id: row.agentId, next_at: row.nextDue }
      insertRow(q, 'schedule', { ...columns, record: JSON.stringify(row) })
    }
  })
}

async function idle(store: ScheduleStore): Promise<BenchResult> {
  const nothing = async (): Promise<undefined> => undefined
  const runner = new ScheduleRunner({
    store,
    clock: systemClock,
    log: silentLog,
    machine: 'here',
    lives: async () => true,
    actions: { advance: nothing, stop: nothing, tell: nothing },
  })
  runner.start()
  await pause(1_000)
  const before = process.cpuUsage()
  await pause(idleMs)
  const { user, system } = process.cpuUsage(before)
  await runner.stop()
  const percent = (user + system) / 10 / idleMs
  return {
    name: `processor time of an idle gateway for ${count} schedules`,
    measured: `${percent.toFixed(3)} % of a core`,
    wanted: 'below 1 %',
    ok: percent < 1,
    how: `the runner alone, ${idleMs / 1_000} s without a due time`,
  }
}

async function adding(store: ScheduleStore): Promise<BenchResult> {
  const times: number[] = []
  for (let n = 0; n < added; n++) {
    const from = performance.now()
    await store.add(schedule(count + n))
    times.push(performance.now() - from)
  }
  const median = times.toSorted((a, b) => a - b)[added / 2]!
  return {
    name: `adding a schedule to ${count}`,
    measured: `${median.toFixed(1)} ms`,
    wanted: 'one synced commit, below 20 ms',
    ok: median < 20,
    how: `the median of ${added}, one after another, each one write transaction`,
  }
}
