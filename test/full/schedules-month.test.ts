// A simulated month of 40 schedules: on one machine with SQLite, one seed twice, and on two machines with PostgreSQL, whose server is
// killed at each outage; there one week is repeated with the same seed. A ledger outside of the stores counts what happened.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { SharedRecords } from '../../src/store/postgres/records.ts'
import { postgresWork } from '../../src/store/postgres/work.ts'
import type { Database } from '../../src/store/sqlite/database.ts'
import { localRecords, type Records } from '../../src/store/sqlite/records.ts'
import { CodingStore } from '../../src/store/sqlite/coding-store.ts'
import { ScheduleStore } from '../../src/store/sqlite/schedule-store.ts'
import { openStateDatabase } from '../../src/store/sqlite/state-database.ts'
import { sqliteWork } from '../../src/store/sqlite/work.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  fortySchedules,
  monthStart,
  simulateMonth,
  type Month,
  type MonthReport,
} from '../support/schedule-month.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-month-'))
const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true })
})

const openDatabase = (name: string): Database =>
  openStateDatabase(join(folder, `${name}.sqlite`), { durability: 'relaxed' })

/** No two of its times are the same: rows of one millisecond would be in another order each time, and the month another one. */
function tickingClock(): Clock {
  let ticks = 0
  return { ...systemClock, now: () => monthStart + ticks++ }
}

async function addSchedules(records: Records): Promise<void> {
  for (const schedule of fortySchedules()) await records.put('schedule', schedule.id, schedule)
}

function say(where: string, { runs, faults, effects }: MonthReport): void {
  const repeats = effects.filter(({ isMarked }) => isMarked).length
  process.stderr.write(
    `a month on ${where}: ${runs.length} runs, ${effects.length} effects (${repeats} marked repeats), faults ${JSON.stringify(faults)}\n`,
  )
}

/** What happened, by the runs and by the ledger. */
const logOf = ({ runs, effects }: MonthReport): string[] => [
  ...runs.map(({ id, state, begunAt, endedAt, machine }) => [id, state, begunAt, endedAt, machine].join(' ')),
  ...effects.map(({ key, at, isMarked }) => [key, at, isMarked].join(' ')),
]

async function monthOnSqlite(seed: number, name: string): Promise<MonthReport> {
  const database = openDatabase(name)
  await addSchedules(localRecords(database))
  const machine = {
    schedules: new ScheduleStore(database),
    coding: new CodingStore(database),
    work: sqliteWork(database, tickingClock()),
  }
  const report = await simulateMonth({ seed, days: 30, faults: 60, machines: [machine] })
  await database.close()
  return report
}

test.each([1, 2])('one machine with SQLite, seed %i: nothing missed, nothing twice', async (seed) => {
  const report = await monthOnSqlite(seed, `first-${seed}`)
  say(`SQLite, seed ${seed}`, report)
  expect(report.wrong).toEqual([])
  expect(report.runs.length).toBeGreaterThan(2_000)
  if (seed === 1) expect(logOf(await monthOnSqlite(seed, 'again'))).toEqual(logOf(report))
})

/** Two machines, with a schema and files of their own. */
async function onPostgres(
  name: string,
  month: Pick<Month, 'seed' | 'days' | 'faults'>,
): Promise<MonthReport> {
  const { url } = server!
  const postgres = new Postgres({ url, schema: name, clock: systemClock, log: silentLog, maxConnections: 4 })
  const databases = [openDatabase(`${name}-m0`), openDatabase(`${name}-m1`)]
  const records = databases.map(
    (copy) => new SharedRecords({ postgres, copy, clock: systemClock, log: silentLog }),
  )
  await addSchedules(records[0]!)
  const clock = tickingClock()
  const machines = databases.map((copy, n) => ({
    schedules: new ScheduleStore(copy, records[n]),
    coding: new CodingStore(copy, { records: records[n]! }),
    work: postgresWork(postgres, clock),
    refresh: () => records[n]!.catchUp(),
  }))
  for (const { refresh } of machines) await refresh()
  const breakDatabase = (): Promise<void> => server!.restart(0)
  const report = await simulateMonth({ ...month, machines, breakDatabase })
  for (const one of records) await one.close()
  for (const database of databases) await database.close()
  await postgres.close()
  return report
}

/** A month is some 80,000 round trips, one after the other. On a machine that is busy with twenty other things each takes 20 ms. */
const slowestMonthMs = 2_400_000

test(
  'two machines on PostgreSQL: each run on one of them, and the other takes over',
  { timeout: slowestMonthMs },
  async (ctx) => {
    if (!server) ctx.skip('PostgreSQL is not installed')
    const report = await onPostgres('month', { seed: 4, days: 30, faults: 60 })
    say('PostgreSQL', report)
    expect(report.wrong).toEqual([])
    expect(new Set(report.runs.map(({ machine }) => machine).filter(Boolean)).size).toBe(2)
  },
)

// A whole month takes minutes, most of them in round trips to the server.
test('two machines on PostgreSQL: the same seed gives the same week', async (ctx) => {
  if (!server) ctx.skip('PostgreSQL is not installed')
  const week = { seed: 4, days: 7, faults: 30 }
  const report = await onPostgres('first', week)
  expect(report.faults['database away']).toBeGreaterThan(0)
  expect(logOf(await onPostgres('again', week))).toEqual(logOf(report))
})
