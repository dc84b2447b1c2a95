// Compares a simulated month with the promises: what the ledger of effects saw, what the runs say of themselves, and which times were
// due by the schedules alone.
import { runId, type Schedule, type ScheduleRun } from '../../src/domain/schedule.ts'
import { codingIdOf } from '../../src/operations/schedules/schedule-actions.ts'
import { nextTimes } from '../../src/schedules/times.ts'
import type { Effect } from './schedule-month-work.ts'

interface MonthRecord {
  schedules: Schedule[]
  runs: ScheduleRun[]
  effects: Effect[]
  /** Later times may still be open. */
  end: number
}

/** Sentences about everything that went wrong. */
export function checkMonth(month: MonthRecord): string[] {
  const runs = month.runs.filter(({ dueAt }) => dueAt <= month.end)
  const bySchedule = Map.groupBy(runs, ({ scheduleId }) => scheduleId)
  const effects = Map.groupBy(month.effects, ({ key }) => key)
  return [
    ...month.schedules.flatMap((schedule) => missing(schedule, bySchedule.get(schedule.id) ?? [], month.end)),
    ...runs.flatMap((run) => receiptsOf(run)),
    ...[...effects.values()].flatMap((same) => repeated(same)),
    ...compared(month, runs, effects),
  ]
}

/** Every due time has its run, or a later run stands for it, as the policy says. */
function missing({ id, missed, ...times }: Schedule, runs: ScheduleRun[], end: number): string[] {
  const due = nextTimes(times, times.createdAt, 40 * 24).filter((time) => time <= end)
  const known = new Map(runs.map((run) => [run.dueAt, run]))
  const wrong = known.size === runs.length ? [] : [`${id}: a due time has two runs`]
  if (missed !== 'once')
    wrong.push(...due.filter((time) => !known.has(time)).map((time) => `${runId(id, time)} has no run`))
  const covered = runs.reduce((sum, { missedBefore = 0 }) => sum + 1 + missedBefore, 0)
  // A run that stands for earlier ones may be due after the end.
  if (covered < due.length - 1) wrong.push(`${id} (${missed}): ${covered} of ${due.length} due times`)
  if (runs.length > due.length) wrong.push(`${id}: ${runs.length} runs of ${due.length} due times`)
  if (missed === 'all')
    wrong.push(...runs.filter(isMissed).map((run) => `${run.id} was skipped against its policy`))
  return wrong
}

function isMissed({ state, note }: ScheduleRun): boolean {
  return state === 'skipped' && note?.startsWith('Missed') === true
}

function receiptsOf({ id, state, writtenAt, begunAt, endedAt, toldAt, machine }: ScheduleRun): string[] {
  if (state === 'due' || state === 'begun') return [`${id} is still ${state}`]
  const has = [writtenAt, endedAt, toldAt].every((receipt) => receipt !== undefined)
  const hasBegun = state === 'skipped' || (begunAt !== undefined && machine !== undefined)
  return has && hasBegun ? [] : [`${id} (${state}) lacks a receipt`]
}

/** At most one effect of a run is not marked as a repeat. */
function repeated(same: Effect[]): string[] {
  const unmarked = same.filter(({ isMarked }) => !isMarked)
  return unmarked.length <= 1 ? [] : [`${same[0]!.key} happened ${unmarked.length} times, unmarked`]
}

/** What runs say they did is what happened, and nothing else happened. */
function compared(
  { schedules, runs: all, effects: ledger }: MonthRecord,
  runs: ScheduleRun[],
  effects: Map<string, Effect[]>,
): string[] {
  const actions = new Map(schedules.map(({ id, action }) => [id, action]))
  const keyOf = (run: ScheduleRun): string => {
    const { kind } = actions.get(run.scheduleId)!
    if (kind === 'coding') return codingIdOf(run)
    return { message: '', turn: 'ask:', wake: 'wake:' }[kind] + `schedule:${run.id}`
  }
  const wrong = runs.flatMap((run) => {
    const hasEffect = effects.has(keyOf(run))
    if (run.state === 'skipped' && hasEffect) return [`${run.id} was skipped and did something`]
    // A run that the next one replaced may not have started its work yet.
    if (run.state === 'ended' && !hasEffect && !run.note?.startsWith('Replaced'))
      return [`${run.id} ended and did nothing`]
    return []
  })
  const known = new Set(all.flatMap((run) => [keyOf(run), `schedule-told:${run.id}`]))
  const strange = ledger.filter(({ key }) => !known.has(key)).map(({ key }) => `${key} belongs to no run`)
  return [...wrong, ...strange]
}
