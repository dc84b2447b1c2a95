// Runs schedules at their times. One timer waits for the next due time. A due run is written first, then claimed by one machine, then
// begun under its own id, so that a repeat after a crash does nothing twice. If the machine of a run dies, another one follows the run.
import { SharedRun } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { pauseFor, runId, type Schedule, type ScheduleRun } from '../domain/schedule.ts'
import type { ScheduleStore } from '../store/sqlite/schedule-store.ts'
import { dueTimes, graceMs, jitterOf, maxCounted, nextDue } from './times.ts'

/** How a run ended. */
export interface RunOutcome {
  state: 'ended' | 'failed'
  note: string
  costUsd: number
  codingId?: string
}

export interface ScheduleActions {
  /** Begins what the schedule does, once for each run however often it is called, on any machine. Undefined while it works. */
  advance(schedule: Schedule, run: ScheduleRun): Promise<RunOutcome | undefined>
  stop(schedule: Schedule, run: ScheduleRun): Promise<void>
  /** Why the schedule may not run any more; it is then paused. */
  refusal(schedule: Schedule): Promise<string | undefined>
  /** Notifies the owner of the schedule about a run, once for each run. */
  tell(schedule: Schedule, run: ScheduleRun, text: string): Promise<void>
}

interface RunnerParts {
  store: ScheduleStore
  actions: ScheduleActions
  clock: Clock
  log: Log
  /** The name of this machine. */
  machine: string
  /** Is a gateway alive on the machine that began a run? */
  lives: (machine: string) => Promise<boolean>
  /** Brings the copy of the shared rows up to date. */
  refresh?: () => Promise<void>
  /** A run of this schedule was written, begun, ended or announced. */
  onChange?: (schedule: Schedule) => void
}

/** The longest wait of the timer: machines sleep, clocks jump, and other machines add schedules. */
const lookEveryMs = 5_000
const followEveryMs = 1_000
const forgetEveryMs = 24 * 3_600_000

export class ScheduleRunner {
  #parts: RunnerParts
  #ticks = new SharedRun(() => this.#tick())
  #cancel = (): void => {}
  #isStarted = false
  #isStopped = false
  #forgetAt = 0

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#isStarted = true
    void this.look()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#ticks.idle()
  }

  /** Looks now: a schedule was added or changed. Resolves when everything that is due has begun. */
  async look(): Promise<void> {
    this.#cancel()
    await this.#ticks
      .start()
      .catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'schedules-not-run', error: String(error) },
          'Could not look for due schedules; trying again in a few seconds.',
        ),
      )
    this.#wait()
  }

  #wait(): void {
    if (!this.#isStarted || this.#isStopped) return
    const { store, clock } = this.#parts
    const untilDue = (store.nextAt() ?? Infinity) - clock.now()
    const longest = store.unfinished().length > 0 ? followEveryMs : lookEveryMs
    this.#cancel()
    this.#cancel = clock.after(Math.max(10, Math.min(longest, untilDue)), () => void this.look())
  }

  async #tick(): Promise<void> {
    const { store, clock, refresh } = this.#parts
    const now = clock.now()
    const hasWork = (store.nextAt() ?? Infinity) <= now || store.unfinished().length > 0
    if (hasWork) await refresh?.()
    for (const schedule of store.due(now)) await this.#writeRuns(schedule, now)
    for (const run of store.unfinished()) {
      if (this.#isStopped) return
      await this.#logged(run, () => this.#follow(run))
    }
    if (now < this.#forgetAt) return
    this.#forgetAt = now + forgetEveryMs
    await store.forgetOld(now)
  }

  /** The rows of all due times, in their order; only then the schedule waits for its next time. */
  async #writeRuns(schedule: Schedule, now: number): Promise<void> {
    const { store } = this.#parts
    const { id, nextDue: first } = schedule
    if (first === undefined) return
    const written = store.lastDue(id)
    // A stop after the rows were written: those times have their runs.
    const from = written === undefined || written < first ? first : nextDue(schedule, written)
    const due =
      from === undefined || from > now ? { runs: [], skipped: [], next: from } : dueTimes(schedule, from, now)
    const rows = [
      ...due.skipped.map((time) => missedRun(newRun(schedule, time, now))),
      ...due.runs.map(({ due: time, missedBefore }) => ({ ...newRun(schedule, time, now), missedBefore })),
    ]
    for (const row of rows.toSorted((a, b) => a.dueAt - b.dueAt)) await store.addRun(row)
    await store.change(id, (stored) => (stored.nextDue === first ? { nextDue: due.next } : undefined))
    if (rows.length > 0) this.#parts.onChange?.(schedule)
  }

  async #follow(run: ScheduleRun): Promise<void> {
    const { store, clock } = this.#parts
    const schedule = store.get(run.scheduleId)
    if (!schedule) return this.#closeRemoved(run)
    if (run.state === 'due') {
      if (clock.now() < run.beginAt) return
      const begun = await this.#begin(schedule, run)
      if (begun) await this.#advance(schedule, begun)
    } else if (run.state === 'begun') {
      const ours = await this.#ours(run)
      if (ours) await this.#advance(schedule, ours)
    }
    const after = store.run(run.id)
    if (after && after.endedAt !== undefined && after.toldAt === undefined) await this.#tell(schedule, after)
    if (after?.state !== run.state) this.#parts.onChange?.(schedule)
  }

  /** The claimed run; undefined when it must wait, is skipped, or another machine has it. */
  async #begin(schedule: Schedule, run: ScheduleRun): Promise<ScheduleRun | undefined> {
    const { store, clock, machine } = this.#parts
    // It waited for the run before, or for its jitter, when the schedule was paused.
    const paused = pauseFor(schedule, run)
    if (paused !== undefined) return this.#close(run, 'skipped', paused)
    const refusal = (await this.#parts.actions.refusal(schedule)) ?? this.#overBudget(schedule)
    if (refusal !== undefined) {
      await store.change(schedule.id, ({ paused }) =>
        paused === undefined ? { paused: refusal } : undefined,
      )
      return this.#close(run, 'skipped', refusal)
    }
    const [earlier] = store.openOf(schedule.id).filter(({ id }) => id !== run.id)
    if (earlier && earlier.dueAt < run.dueAt && !(await this.#mayOverlap(schedule, run, earlier)))
      return undefined
    return store.changeRun(run.id, ({ state }) => {
      // It may have been paused or removed meanwhile; the next look then closes the run.
      const stored = store.get(schedule.id)
      const mayBegin = state === 'due' && stored !== undefined && pauseFor(stored, run) === undefined
      return mayBegin ? { state: 'begun', begunAt: clock.now(), machine } : undefined
    })
  }

  #overBudget({ id, totalBudgetUsd }: Schedule): string | undefined {
    if (totalBudgetUsd === undefined) return undefined
    const spent = this.#parts.store.spentUsd(id)
    if (spent < totalBudgetUsd) return undefined
    return `Its budget is used up: $${spent.toFixed(2)} of $${totalBudgetUsd.toFixed(2)}.`
  }

  /** An earlier run still works. */
  async #mayOverlap(schedule: Schedule, run: ScheduleRun, earlier: ScheduleRun): Promise<boolean> {
    // With `all` no missed time is dropped: they run one after another.
    const isMissed = schedule.missed === 'all' && run.writtenAt - run.dueAt > graceMs
    if (schedule.overlap === 'queue' || isMissed) return false
    if (schedule.overlap === 'skip' && earlier.state === 'due') return false
    if (schedule.overlap === 'skip') {
      await this.#close(run, 'skipped', `The run of ${new Date(earlier.dueAt).toISOString()} still works.`)
      return false
    }
    if (earlier.state === 'begun') await this.#parts.actions.stop(schedule, earlier)
    await this.#close(earlier, earlier.state === 'due' ? 'skipped' : 'ended', 'Replaced by the next run.')
    return true
  }

  /** A begun run that this machine follows: its own, or that of a machine that died. */
  async #ours(run: ScheduleRun): Promise<ScheduleRun | undefined> {
    const { store, machine, lives, log } = this.#parts
    const { machine: began } = run
    if (began === machine) return run
    if (began !== undefined && (await lives(began))) return undefined
    const taken = await store.changeRun(run.id, (stored) =>
      stored.state === 'begun' && stored.machine === began ? { machine } : undefined,
    )
    if (taken)
      log.warn(
        { event: 'schedule-run-taken-over', run: run.id, from: began },
        'The machine that began a scheduled run is gone; following the run here.',
      )
    return taken
  }

  async #advance(schedule: Schedule, run: ScheduleRun): Promise<void> {
    try {
      const outcome = await this.#parts.actions.advance(schedule, run)
      if (outcome) await this.#close(run, outcome.state, outcome.note, outcome)
    } catch (error) {
      const { code, message } = asRockpoolError(error)
      // Tried again at the next look: what was begun under this id is not begun twice.
      if (code === 'unavailable' || code === 'busy' || code === 'locked' || code === 'disk-failed')
        throw error
      await this.#close(run, 'failed', message)
    }
  }

  async #close(
    run: ScheduleRun,
    state: 'ended' | 'failed' | 'skipped',
    note: string,
    { costUsd, codingId }: Pick<RunOutcome, 'costUsd' | 'codingId'> = { costUsd: 0 },
  ): Promise<undefined> {
    const { store, clock } = this.#parts
    const isOpen = (stored: ScheduleRun): boolean =>
      stored.state === run.state && stored.endedAt === undefined
    await store.changeRun(run.id, (stored) =>
      isOpen(stored) ? { state, note, costUsd, codingId, endedAt: clock.now() } : undefined,
    )
  }

  /** A run that has begun continues; no notice is sent about a schedule that was removed. */
  async #closeRemoved({ id }: ScheduleRun): Promise<void> {
    const now = this.#parts.clock.now()
    await this.#parts.store.changeRun(id, ({ state, endedAt = now, note = 'The schedule was removed.' }) => {
      const after = { due: 'skipped', begun: 'ended' } as const
      return {
        state: state === 'due' || state === 'begun' ? after[state] : state,
        note,
        endedAt,
        toldAt: now,
      }
    })
  }

  async #tell(schedule: Schedule, run: ScheduleRun): Promise<void> {
    const text = noticeOf(schedule, run)
    if (text !== undefined) await this.#parts.actions.tell(schedule, run, text)
    await this.#parts.store.changeRun(run.id, () => ({ toldAt: this.#parts.clock.now() }))
  }

  async #logged(run: ScheduleRun, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#parts.log.warn(
        { event: 'schedule-run-delayed', run: run.id, error: String(error) },
        'A scheduled run could not be continued; trying again in a moment.',
      )
    }
  }
}

/** The row of a due time, before it begins. */
export function newRun(schedule: Schedule, dueAt: number, now: number): ScheduleRun {
  return {
    id: runId(schedule.id, dueAt),
    scheduleId: schedule.id,
    dueAt,
    state: 'due',
    writtenAt: now,
    beginAt: dueAt + jitterOf(schedule, dueAt),
    costUsd: 0,
  }
}

function missedRun(run: ScheduleRun): ScheduleRun {
  return { ...run, state: 'skipped', endedAt: run.writtenAt, note: 'Missed; its policy is to skip.' }
}

/** The notice for the owner about a run that did not go as planned; the run itself does not report that. */
function noticeOf(
  { name }: Schedule,
  { state, note, missedBefore, dueAt, begunAt, manual }: ScheduleRun,
): string | undefined {
  const due = new Date(dueAt).toISOString().slice(0, 16).replace('T', ' ')
  if (state === 'failed') return `❌ Schedule ${name}, due ${due} UTC, failed: ${note}`
  if (state === 'skipped') return `⏭️ Schedule ${name}, due ${due} UTC, did not run: ${note}`
  const isLate = !manual && begunAt !== undefined && begunAt - dueAt > lateMs
  if (!isLate) return undefined
  const atLeast = missedBefore !== undefined && missedBefore > maxCounted ? 'more than ' : ''
  const others = missedBefore
    ? ` It stands for ${atLeast}${Math.min(missedBefore, maxCounted)} earlier ones, too.`
    : ''
  return `⏰ Schedule ${name}, due ${due} UTC, ran late.${others}`
}

const lateMs = 10 * 60_000
