// The output row of a schedule, which schedules a caller may see, and what an agent may not do.
import { z } from 'zod'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { onlyOwnerResumes, runSchema, scheduleSchema } from '../../domain/schedule.ts'
import type { Schedule } from '../../domain/schedule.ts'
import { describeWhen } from '../../schedules/read-when.ts'
import { nextTimes } from '../../schedules/times.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'

/** Where machines share a database, schedules are due by its clock: a machine whose clock is fast starts nothing before its time. */
export function scheduleClock({ clock, storage: { cluster } }: App): Clock {
  return cluster ? { ...clock, now: () => clock.now() + cluster.connection.aheadMs } : clock
}

export const scheduleRef = z.string().min(1).describe('Its name, its id, or the beginning of its id.')

export const scheduleRow = scheduleSchema.extend({
  times: z.string().describe('When it is due, in words.'),
  nextTimes: z.array(z.number()).describe('The next five due times.'),
  spentUsd: z.number().describe('What its runs cost so far.'),
  lastRun: runSchema.optional(),
  calendar: z
    .array(z.number())
    .optional()
    .describe('The due times of the requested days; at most the next 30.'),
})
const shownTimes = 5
const calendarTimes = 30

export function rowOf(app: App, schedule: Schedule, calendarDays = 0): z.input<typeof scheduleRow> {
  const { schedules } = app.storage
  const now = scheduleClock(app).now()
  const until = now + calendarDays * 86_400_000
  const times =
    schedule.paused === undefined
      ? nextTimes(schedule, now, calendarDays > 0 ? calendarTimes : shownTimes)
      : []
  const [lastRun] = schedules.runs({ scheduleId: schedule.id, limit: 1 })
  return {
    ...schedule,
    times: describeWhen(schedule.when),
    nextTimes: times.slice(0, shownTimes),
    calendar: calendarDays > 0 ? times.filter((time) => time <= until) : undefined,
    spentUsd: schedules.spentUsd(schedule.id),
    lastRun,
  }
}

/** An agent finds only its own. */
export function find(app: App, ref: string, { agentId }: Caller): Schedule {
  const found = app.storage.schedules
    .resolve(ref)
    .filter((one) => agentId === undefined || one.agentId === agentId)
  if (found.length === 1) return found[0]!
  const named = JSON.stringify(ref.slice(0, 80))
  if (found.length > 1) throw ambiguous(named, found)
  throw new RockpoolError('not-found', `There is no schedule ${named}.`, {
    hint: 'See `rockpool schedules list`.',
  })
}

/** Names are unique for each agent only. */
function ambiguous(named: string, found: Schedule[]): RockpoolError {
  return new RockpoolError('ambiguous', `${found.length} schedules match ${named}.`, {
    hint: `Give the id: ${found.map(({ id, agentId }) => `${id} (${agentId})`).join(', ')}.`,
  })
}

/** The runner of this process, if it is the gateway, waits for the new time; the page shows the change. */
export async function noticeChange(app: App, { agentId, id }: Schedule): Promise<void> {
  if (app.gateway) await app.schedules().look()
  app.events.emit({ type: 'schedule-changed', agentId, id })
}

/** Does the caller decide about schedules as the owner: may it approve, and is it bound to no agent? */
export function isOwner(caller: Caller): boolean {
  return giverOf(caller).mayApprove
}

export function refused(what: string): RockpoolError {
  return new RockpoolError('refused', `An agent cannot ${what}.`, {
    hint: 'A person can: `rockpool schedules add`.',
  })
}

/** What the owner paused, or what only the owner can accept, waits for the owner. */
export function refuseWhatOwnerPaused(schedule: Schedule, act: 'resume' | 'run', caller: Caller): void {
  if (isOwner(caller) || !onlyOwnerResumes(schedule)) return
  throw new RockpoolError('refused', `This caller cannot ${act} what the owner paused.`, {
    hint: `The owner can: \`rockpool schedules ${act}\`.`,
  })
}
