// A month of schedules in a simulated time: machines are killed in the middle of a step, sleep, have wrong clocks, and lose their
// database. The same seed gives the same month. The rows are real (SQLite or PostgreSQL); what runs do is kept in a ledger that
// survives every kill, as the inbox, the outbox and the coding store do.
import type { Clock } from '../../src/domain/clock.ts'
import { RockpoolError } from '../../src/domain/errors.ts'
import { silentLog } from '../../src/domain/log.ts'
import { runId, type Schedule, type ScheduleRun } from '../../src/domain/schedule.ts'
import { ScheduleRunner } from '../../src/schedules/schedule-runner.ts'
import type { RunOutcome } from '../../src/schedules/schedule-runner.ts'
import { nextTimes } from '../../src/schedules/times.ts'
import type { ScheduleStore } from '../../src/store/sqlite/schedule-store.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
export const monthStart = Date.parse('2026-10-10T00:00:00Z')

/** The rows as one machine sees them. */
export interface MachineRows {
  store: ScheduleStore
  refresh?: () => Promise<void>
}

export interface Month {
  seed: number
  days: number
  /** How often something goes wrong. */
  faults: number
  machines: MachineRows[]
}

export interface MonthReport {
  runs: ScheduleRun[]
  /** What went against a promise. */
  wrong: string[]
  faults: Record<string, number>
  begun: number
}

/** 40 schedules: every policy, daily, six-hourly and hourly, in zones whose clocks change in this month; 12 of them are coding sessions. */
export function fortySchedules(): Schedule[] {
  const zones = ['Europe/Berlin', 'America/New_York', 'UTC', 'Australia/Lord_Howe']
  return Array.from({ length: 40 }, (_, n) => {
    const when: Schedule['when'] =
      n < 3
        ? { kind: 'every', everyMs: hour, from: monthStart + n * 7 * minute }
        : n < 10
          ? { kind: 'every', everyMs: 6 * hour, from: monthStart + n * minute }
          : { kind: 'cron', cron: `${(n * 7) % 60} ${n % 24} * * *`, timeZone: zones[n % 4]! }
    return {
      id: `s${String(n).padStart(2, '0')}`,
      name: `schedule-${n}`,
      agentId: 'main',
      author: 'owner',
      when,
      action:
        n % 10 < 3 ? { kind: 'coding', text: 'work', workdir: '/repo' } : { kind: 'turn', text: 'look' },
      jitterSeconds: n % 5 === 0 ? 300 : 0,
      missed: (['once', 'all', 'skip'] as const)[n % 3]!,
      overlap: (['queue', 'skip', 'replace'] as const)[Math.floor(n / 3) % 3]!,
      createdAt: monthStart,
      nextDue: nextTimes({ when }, monthStart, 1)[0],
    }
  })
}

class Killed extends Error {}

interface Machine extends MachineRows {
  name: string
  runner: ScheduleRunner
  /** Awake again at this time; 0 while it is awake. */
  downUntil: number
  clockOffset: number
  databaseAwayUntil: number
  isKilled: boolean
}

export async function simulateMonth({
  seed,
  days,
  faults: faultCount,
  machines: rows,
}: Month): Promise<MonthReport> {
  const random = randomFrom(seed)
  const end = monthStart + days * day
  const ledger = new Map<string, { endsAt: number; isOver: boolean }>()
  const report: MonthReport = { runs: [], wrong: [], faults: {}, begun: 0 }
  let now = monthStart
  let isCalm = false

  const advance = async (
    machine: Machine,
    schedule: Schedule,
    run: ScheduleRun,
  ): Promise<RunOutcome | undefined> => {
    if (now < machine.databaseAwayUntil) throw new RockpoolError('unavailable', 'away')
    const known = ledger.get(run.id)
    if (known?.isOver && run.state !== 'begun') report.wrong.push(`${run.id} works after its end`)
    if (!known) {
      report.begun++
      const ms = schedule.action.kind === 'coding' ? (1 + random() * 50) * minute : random() * 2 * minute
      ledger.set(run.id, { endsAt: now + ms, isOver: false })
      // The machine dies after the effect and before it has written anything about it.
      if (!isCalm && random() < 0.02) throw kill(machine, 'killed after the effect')
    }
    const work = ledger.get(run.id)!
    if (now < work.endsAt) return undefined
    work.isOver = true
    return { state: 'ended', note: 'done', costUsd: 0.01 }
  }

  const kill = (machine: Machine, why: string): Killed => {
    report.faults[why] = (report.faults[why] ?? 0) + 1
    machine.isKilled = true
    machine.downUntil = now + (1 + random() * 30) * minute
    return new Killed(why)
  }

  /** Every write may be the last one of the machine. */
  const killable = (machine: Machine, store: ScheduleStore): ScheduleStore =>
    new Proxy(store, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown
        if (typeof value !== 'function') return value
        const call = (value as (...args: unknown[]) => unknown).bind(target)
        if (!['addRun', 'changeRun', 'change'].includes(String(name))) return call
        return async (...args: unknown[]) => {
          if (machine.isKilled) throw new Killed('dead')
          if (now < machine.databaseAwayUntil) throw new RockpoolError('unavailable', 'away')
          if (!isCalm && random() < 0.002) throw kill(machine, 'killed before a write')
          const result = await call(...args)
          if (!isCalm && random() < 0.002) throw kill(machine, 'killed after a write')
          return result
        }
      },
    })

  const makeRunner = (machine: Machine): ScheduleRunner => {
    const clock: Clock = { now: () => now + machine.clockOffset, monotonic: () => now, after: () => () => {} }
    return new ScheduleRunner({
      store: killable(machine, machine.store),
      clock,
      log: silentLog,
      machine: machine.name,
      lives: async (name) => all.some((other) => other.name === name && other.downUntil === 0),
      refresh: machine.refresh,
      actions: {
        advance: (schedule, run) => advance(machine, schedule, run),
        stop: async (_schedule, run) => void ledger.set(run.id, { endsAt: now, isOver: true }),
        tell: async () => {},
      },
    })
  }

  const all: Machine[] = rows.map((row, n) => {
    const machine = {
      ...row,
      name: `m${n}`,
      downUntil: 0,
      clockOffset: 0,
      databaseAwayUntil: 0,
      isKilled: false,
    }
    return Object.assign(machine, { runner: undefined as unknown as ScheduleRunner })
  })
  for (const machine of all) machine.runner = makeRunner(machine)

  const faultAt = Array.from({ length: faultCount }, () => monthStart + random() * days * day).toSorted(
    (a, b) => a - b,
  )
  const disturb = (): void => {
    const machine = all[Math.floor(random() * all.length)]!
    const kind = ['kill', 'sleep', 'clock ahead', 'clock behind', 'database away'][Math.floor(random() * 5)]!
    report.faults[kind] = (report.faults[kind] ?? 0) + 1
    if (kind === 'kill') kill(machine, 'kill -9')
    if (kind === 'sleep') machine.downUntil = now + random() * 20 * hour
    if (kind === 'clock ahead') machine.clockOffset = Math.floor(random() * 3 * hour)
    if (kind === 'clock behind') machine.clockOffset = -Math.floor(random() * 3 * hour)
    if (kind === 'database away') for (const one of all) one.databaseAwayUntil = now + random() * 2 * hour
  }

  while (now < end + day) {
    now += minute * (random() < 0.5 ? 1 : 3)
    isCalm = now >= end
    const due = faultAt.filter((at) => at <= now).length
    faultAt.splice(0, due)
    if (!isCalm) for (let n = 0; n < due; n++) disturb()
    for (const machine of all) {
      if (isCalm) Object.assign(machine, { clockOffset: 0, databaseAwayUntil: 0 })
      else if (machine.clockOffset !== 0 && random() < 0.01) machine.clockOffset = 0
      if (machine.downUntil > now && !isCalm) continue
      if (machine.isKilled) machine.runner = makeRunner(machine)
      Object.assign(machine, { downUntil: 0, isKilled: false })
      await machine.runner.look()
    }
  }
  const [{ store, refresh }] = all as [Machine, ...Machine[]]
  await refresh?.()
  report.runs = store.runs({ limit: 1_000_000 })
  report.wrong.push(...checkRuns(store.list(), report.runs, ledger, end))
  return report
}

/** No due time is missed against its policy, none runs twice, each run has its receipts. */
function checkRuns(
  schedules: Schedule[],
  runs: ScheduleRun[],
  ledger: Map<string, object>,
  end: number,
): string[] {
  const wrong: string[] = []
  const bySchedule = Map.groupBy(runs, ({ scheduleId }) => scheduleId)
  for (const schedule of schedules) {
    const own = bySchedule.get(schedule.id) ?? []
    const due = nextTimes(schedule, monthStart, 40 * 24).filter((time) => time <= end)
    const known = new Map(own.map((run) => [run.dueAt, run]))
    if (known.size !== own.length) wrong.push(`${schedule.id}: a due time has two runs`)
    const covered = own
      .filter(({ dueAt }) => dueAt <= end)
      .reduce((sum, run) => sum + 1 + (run.missedBefore ?? 0), 0)
    if (covered < due.length)
      wrong.push(`${schedule.id} (${schedule.missed}): ${covered} of ${due.length} due times`)
    if (schedule.missed !== 'once')
      for (const time of due) if (!known.has(time)) wrong.push(`${runId(schedule.id, time)} has no run`)
  }
  for (const run of runs) {
    const { id, state, begunAt, endedAt, toldAt } = run
    if (run.dueAt > end) continue
    if (state === 'due' || state === 'begun') wrong.push(`${id} is still ${state}`)
    if (endedAt === undefined || toldAt === undefined) wrong.push(`${id} (${state}) lacks a receipt`)
    if (state === 'ended' && begunAt === undefined) wrong.push(`${id} ended and never began`)
    if (state === 'skipped' && begunAt === undefined && ledger.has(id))
      wrong.push(`${id} was skipped and did something`)
    if (state === 'ended' && !ledger.has(id)) wrong.push(`${id} ended and did nothing`)
  }
  return wrong
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
