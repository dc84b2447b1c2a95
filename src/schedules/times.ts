// When a schedule is due: by cron expression in a time zone, by interval, or once. Pure: times in, times out.
import { Cron } from 'croner'
import { createHash } from 'node:crypto'
import { RockpoolError } from '../domain/errors.ts'
import type { Schedule, When } from '../domain/schedule.ts'

type Times = Pick<Schedule, 'when' | 'notBefore' | 'notAfter'>

/** The first due time after `after`; undefined when there is none. */
export function nextDue(times: Times, after: number): number | undefined {
  return dueAfter(times)(after)
}

/** The next due times, for a person who adds a schedule. */
export function nextTimes(times: Times, after: number, count: number): number[] {
  const next = dueAfter(times)
  const found: number[] = []
  let from = after
  while (found.length < count) {
    const due = next(from)
    if (due === undefined) break
    found.push(due)
    from = due
  }
  return found
}

/** Reads a cron expression once for many times: that takes longer than to find the next time. */
function dueAfter({ when, notBefore, notAfter }: Times): (after: number) => number | undefined {
  const next = nextOf(when)
  return (after) => {
    const due = next(notBefore === undefined ? after : Math.max(after, notBefore - 1))
    return due === undefined || (notAfter !== undefined && due > notAfter) ? undefined : due
  }
}

function nextOf(when: When): (after: number) => number | undefined {
  if (when.kind === 'cron') return nextOfCron(when)
  if (when.kind === 'once') return (after) => (when.at > after ? when.at : undefined)
  return (after) => {
    const steps = Math.floor((after - when.from) / when.everyMs) + 1
    return when.from + Math.max(1, steps) * when.everyMs
  }
}

/** Cron counts in whole seconds. A time that clocks skip in spring is due at the moment of the jump; a time that they show twice in
 *  autumn is due once. */
function nextOfCron({
  cron,
  timeZone,
}: Extract<When, { kind: 'cron' }>): (after: number) => number | undefined {
  const parsed = parsedCron(cron, timeZone)
  return (after) => parsed.nextRun(new Date(Math.floor(after / 1_000) * 1_000))?.getTime()
}

/** Throws with a remedy when the expression or the time zone is wrong. */
export function parsedCron(cron: string, timeZone: string): Cron {
  try {
    return new Cron(cron, { timezone: timeZone, paused: true })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new RockpoolError(
      'input-invalid',
      `The cron expression ${JSON.stringify(cron)} cannot be read: ${why}`,
      {
        hint: 'Five fields: minute hour day month weekday, for example "0 9 * * 1-5".',
      },
    )
  }
}

/** The same for each due time, on every machine and after every restart. */
export function jitterOf({ id, jitterSeconds }: Pick<Schedule, 'id' | 'jitterSeconds'>, due: number): number {
  if (jitterSeconds === 0) return 0
  const digest = createHash('sha256').update(`${id}|${due}`).digest()
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * jitterSeconds * 1_000)
}

/** A run that begins later than this after its time is late: it was missed. */
export const graceMs = 60_000
/** `all` runs at most as many missed times. */
const maxMissed = 100
/** Months of minutes are not counted one by one, which would take seconds: beyond this number only the latest times are counted. */
export const maxCounted = 1_000

interface DueTimes {
  /** Due times that get a run, with the number of missed ones that it stands for. */
  runs: Array<{ due: number; missedBefore: number }>
  /** Due times that were missed and do not run. */
  skipped: number[]
  /** The first due time after now. */
  next?: number
}

/** What to do at `now` with a schedule that is due since `first`. */
export function dueTimes(schedule: Times & Pick<Schedule, 'missed'>, first: number, now: number): DueTimes {
  const nextAfter = dueAfter(schedule)
  const due = [first]
  for (;;) {
    const from =
      due.length === maxCounted ? Math.max(due.at(-1)!, now - (due.at(-1)! - first) / 2) : due.at(-1)!
    const next = nextAfter(from)
    if (next === undefined || next > now) return { ...byPolicy(schedule.missed, due, now), next }
    due.push(next)
  }
}

function byPolicy(missed: Schedule['missed'], due: number[], now: number): Omit<DueTimes, 'next'> {
  const late = due.filter((time) => now - time > graceMs)
  const onTime = due.filter((time) => now - time <= graceMs).map((time) => ({ due: time, missedBefore: 0 }))
  if (late.length === 0) return { runs: onTime, skipped: [] }
  if (missed === 'skip') return { runs: onTime, skipped: late.slice(-maxMissed) }
  if (missed === 'all') {
    const kept = late.slice(-maxMissed).map((time) => ({ due: time, missedBefore: 0 }))
    // The first of them stands for older ones, so that they are not lost without a word.
    kept[0]!.missedBefore = late.length - kept.length
    return { runs: [...kept, ...onTime], skipped: [] }
  }
  // Once: the run on time stands for the missed ones, too.
  if (onTime.length > 0) {
    const [latest, ...rest] = onTime.toReversed()
    return { runs: [...rest.toReversed(), { due: latest!.due, missedBefore: late.length }], skipped: [] }
  }
  return { runs: [{ due: late.at(-1)!, missedBefore: late.length - 1 }], skipped: [] }
}
