// A month of schedules in a simulated time: processes are killed before and after every write and between an effect and its receipt,
// machines sleep, have wrong clocks, and lose their database. The same seed gives the same month. The runner, its actions and the
// stores (SQLite or PostgreSQL) are the real ones; schedule-month-work.ts does the work and keeps the ledger of effects.
import type { Clock } from '../../src/domain/clock.ts'
import { RockpoolError } from '../../src/domain/errors.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { Schedule, ScheduleRun } from '../../src/domain/schedule.ts'
import { scheduleActions } from '../../src/operations/schedules/schedule-actions.ts'
import { ScheduleRunner } from '../../src/schedules/schedule-runner.ts'
import { nextTimes } from '../../src/schedules/times.ts'
import { checkMonth } from './schedule-month-check.ts'
import { MonthWorker, type Effect, type ProcessStores } from './schedule-month-work.ts'
import { randomFrom } from './random.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
export const monthStart = Date.parse('2026-10-10T00:00:00Z')

/** The rows as one machine sees them. */
export interface MachineRows extends ProcessStores {
  refresh?: () => Promise<void>
}

export interface Month {
  seed: number
  days: number
  /** How often something goes wrong, besides the kills in the middle of a step. */
  faults: number
  machines: MachineRows[]
  /** Breaks the connections to the real database when it goes away. */
  breakDatabase?: () => Promise<void>
}

export interface MonthReport {
  runs: ScheduleRun[]
  effects: Effect[]
  /** What went against a promise. */
  wrong: string[]
  faults: Record<string, number>
}

/** 40 schedules: every policy, daily, six-hourly and hourly, in zones whose clocks change in this month. 12 start coding sessions, the
 *  others turns, wakes and messages. */
export function fortySchedules(): Schedule[] {
  const zones = ['Europe/Berlin', 'America/New_York', 'UTC', 'Australia/Lord_Howe']
  return Array.from({ length: 40 }, (_, n) => {
    const when: Schedule['when'] =
      n < 3
        ? { kind: 'every', everyMs: hour, from: monthStart + n * 7 * minute }
        : n < 10
          ? { kind: 'every', everyMs: 6 * hour, from: monthStart + n * minute }
          : { kind: 'cron', cron: `${(n * 7) % 60} ${n % 24} * * *`, timeZone: zones[n % 4]! }
    const id = `s${String(n).padStart(2, '0')}`
    return {
      id,
      name: `schedule-${n}`,
      agentId: 'main',
      author: 'owner',
      when,
      action: actionOf(n, id),
      jitterSeconds: n % 5 === 0 ? 300 : 0,
      missed: (['once', 'all', 'skip'] as const)[n % 3]!,
      overlap: (['queue', 'skip', 'replace'] as const)[Math.floor(n / 3) % 3]!,
      tell: 'telegram|owner',
      createdAt: monthStart,
      nextDue: nextTimes({ when }, monthStart, 1)[0],
    }
  })
}

function actionOf(n: number, id: string): Schedule['action'] {
  const sessionKey = `agent:main:${id}`
  if (n % 10 < 3) return { kind: 'coding', text: 'work', workdir: '/repo' }
  if (n % 10 < 5) return { kind: 'message', text: 'look', to: 'telegram|42' }
  return { kind: n % 10 === 5 ? 'wake' : 'turn', text: 'look', sessionKey }
}

export class Killed extends Error {}

export async function simulateMonth(month: Month): Promise<MonthReport> {
  const simulation = new Simulation(month)
  await simulation.run()
  return simulation.report()
}

interface Machine extends MachineRows {
  name: string
  runner: ScheduleRunner
  worker: MonthWorker
  /** Another number after each kill. */
  life: number
  /** Awake again at this time; 0 while it is awake. */
  downUntil: number
  clockOffset: number
  isKilled: boolean
  /** How many more steps there may be work. */
  busySteps: number
  /** How many changes there were when it had nothing more to do. */
  sawChanges: number
}

class Simulation {
  readonly #month: Month
  readonly #random: () => number
  readonly #machines: Machine[]
  readonly #ledger: Effect[] = []
  readonly #faults: Record<string, number> = {}
  #now = monthStart
  #databaseAwayUntil = 0
  /** Writes, kills and starts so far, of all machines. */
  #changes = 0
  /** The last day: nothing goes wrong, so that everything can end. */
  #isCalm = false

  constructor(month: Month) {
    this.#month = month
    this.#random = randomFrom(month.seed)
    this.#machines = month.machines.map((rows, n) => {
      const machine = {
        ...rows,
        name: `m${n}`,
        life: 0,
        downUntil: 0,
        clockOffset: 0,
        isKilled: false,
        sawChanges: -1,
      } as Machine
      return this.#started(machine)
    })
  }

  async run(): Promise<void> {
    const { days, faults } = this.#month
    const end = monthStart + days * day
    const faultAt = Array.from({ length: faults }, () => monthStart + this.#random() * days * day)
    while (this.#now < end + day) {
      const before = this.#now
      this.#now += minute * (this.#random() < 0.5 ? 1 : 3)
      this.#isCalm = this.#now >= end
      const due = faultAt.filter((at) => at > before && at <= this.#now)
      for (let n = 0; n < due.length && !this.#isCalm; n++) await this.#disturb()
      for (const machine of this.#machines) await this.#step(machine)
    }
  }

  async report(): Promise<MonthReport> {
    const [{ schedules, refresh }] = this.#machines as [Machine, ...Machine[]]
    await refresh?.()
    const runs = schedules.runs({ limit: 1_000_000 })
    const end = monthStart + this.#month.days * day
    const wrong = checkMonth({ schedules: schedules.list(), runs, effects: this.#ledger, end })
    return { runs, effects: this.#ledger, wrong, faults: this.#faults }
  }

  async #step(machine: Machine): Promise<void> {
    if (this.#isCalm) {
      machine.clockOffset = 0
      this.#databaseAwayUntil = 0
    } else if (machine.clockOffset !== 0 && this.#random() < 0.01) machine.clockOffset = 0
    if (machine.downUntil > this.#now && !this.#isCalm) return
    if (machine.isKilled) this.#started(machine)
    machine.downUntil = 0
    await machine.runner.look()
    if (machine.schedules.unfinished().length > 0) machine.busySteps = 3
    if (machine.busySteps-- <= 0 && !this.#isCalm) return
    // Nothing has changed since a step that found nothing to do: the same questions would get the same answers.
    if (machine.sawChanges === this.#changes && !machine.worker.hasEnding()) return
    const before = this.#changes
    try {
      if (this.#now >= this.#databaseAwayUntil) await machine.refresh?.()
      await machine.worker.step()
      if (before === this.#changes) machine.sawChanges = before
    } catch (error) {
      if (!(error instanceof Killed) && !(error instanceof RockpoolError && error.code === 'unavailable'))
        throw error
    }
  }

  async #disturb(): Promise<void> {
    const machine = this.#machines[Math.floor(this.#random() * this.#machines.length)]!
    const kinds = ['kill', 'sleep', 'clock ahead', 'clock behind', 'database away'] as const
    const kind = kinds[Math.floor(this.#random() * kinds.length)]!
    if (kind === 'kill') return void this.#kill(machine, 'killed between steps')
    this.#count(kind)
    if (kind === 'sleep') machine.downUntil = this.#now + this.#random() * 20 * hour
    if (kind === 'clock ahead') machine.clockOffset = Math.floor(this.#random() * 3 * hour)
    if (kind === 'clock behind') machine.clockOffset = -Math.floor(this.#random() * 3 * hour)
    if (kind !== 'database away') return
    this.#databaseAwayUntil = this.#now + this.#random() * 2 * hour
    await this.#month.breakDatabase?.()
  }

  /** A process that has just started on this machine. */
  #started(machine: Machine): Machine {
    this.#changes++
    machine.life++
    machine.isKilled = false
    machine.busySteps = 3
    const life = machine.life
    const stores = this.#killable(machine, life)
    const self = `${machine.name}#${life}`
    const clock: Clock = {
      now: () => this.#now + machine.clockOffset,
      monotonic: () => this.#now,
      after: () => () => {},
    }
    machine.worker = new MonthWorker({
      stores,
      clock,
      self,
      lives: (owner) => this.#machines.some(({ name, life: current }) => owner === `${name}#${current}`),
      ledger: this.#ledger,
      afterEffect: () => this.#maybeKill(machine, 0.01, 'killed between effect and receipt'),
    })
    machine.runner = new ScheduleRunner({
      store: stores.schedules,
      clock,
      log: silentLog,
      machine: machine.name,
      lives: async (name) => this.#machines.some((other) => other.name === name && other.downUntil === 0),
      refresh: machine.refresh && (() => this.#unlessAway(machine.refresh!)),
      actions: scheduleActions(machine.worker.world()),
    })
    return machine
  }

  #killable(machine: Machine, life: number): ProcessStores {
    const { schedules, work, coding } = machine
    const around = <T extends object>(store: T, writes: string[], reads: string[] = []): T =>
      new Proxy(store, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown
          if (typeof value !== 'function') return value
          const call = (value as (...args: unknown[]) => unknown).bind(target)
          const isWrite = writes.includes(String(name))
          if (!isWrite && !reads.includes(String(name))) return call
          return async (...args: unknown[]) => {
            if (machine.isKilled || machine.life !== life) throw new Killed('dead')
            if (isWrite) this.#changes++
            if (isWrite) this.#maybeKill(machine, 0.0015, 'killed before a write')
            const result = await this.#unlessAway(async () => call(...args))
            if (isWrite) this.#maybeKill(machine, 0.0015, 'killed after a write')
            return result
          }
        },
      })
    return {
      schedules: around(schedules, ['addRun', 'changeRun', 'change']),
      coding: around(coding, ['add', 'update']),
      work: {
        ...work,
        inbox: around(work.inbox, ['accept', 'end'], ['state', 'knows', 'waiting']),
        lanes: around(work.lanes, ['begin', 'finish', 'release'], ['running', 'history']),
        outbox: around(work.outbox, ['leave', 'change'], ['open']),
      },
    }
  }

  async #unlessAway<T>(use: () => Promise<T>): Promise<T> {
    if (this.#now < this.#databaseAwayUntil) throw new RockpoolError('unavailable', 'The database is away.')
    return use()
  }

  #maybeKill(machine: Machine, chance: number, why: string): void {
    if (!this.#isCalm && this.#random() < chance) throw this.#kill(machine, why)
  }

  #kill(machine: Machine, why: string): Killed {
    this.#changes++
    this.#count(why)
    machine.isKilled = true
    machine.downUntil = this.#now + (1 + this.#random() * 30) * minute
    return new Killed(why)
  }

  #count(fault: string): void {
    this.#faults[fault] = (this.#faults[fault] ?? 0) + 1
  }
}
