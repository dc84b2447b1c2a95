// schedules.*: what happens at which times, and what ran. An agent sees and changes only its own schedules.
import { z } from 'zod'
import { claudeSchedules, type ClaudeSchedule } from '../../discovery/claude-schedules.ts'
import { onlyOwnerResumes, runSchema } from '../../domain/schedule.ts'
import type { Schedule } from '../../domain/schedule.ts'
import { newRun } from '../../schedules/schedule-runner.ts'
import { nextDue } from '../../schedules/times.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { addSchedule, refuseSession } from './schedule-add.ts'
import { chatRightsOf, takeOver } from './schedule-refusal.ts'
import {
  find,
  isOwner,
  noticeChange,
  refuseWhatOwnerPaused,
  rowOf,
  scheduleClock,
  scheduleRef,
  scheduleRow,
} from './schedule-row.ts'
import { launcherOf } from './schedule-world.ts'

const claudeRow = z.object({
  kind: z.enum(['task', 'background job']),
  times: z.string().describe('The cron expression of a task, the state of a job.'),
  where: z.string(),
  what: z.string(),
  sessionId: z.string().optional(),
})

const list = operation({
  name: 'schedules.list',
  description: 'List schedules, with the next times and the last run of each.',
  input: z.strictObject({
    limit: z
      .int()
      .min(1)
      .max(10_000)
      .default(200)
      .describe('How many at most; those that are due next come first.'),
    days: z
      .int()
      .min(0)
      .max(31)
      .default(0)
      .describe('Also list the due times of the next days, as many as given here, for a calendar.'),
  }),
  output: z.object({
    total: z.number(),
    schedules: z.array(scheduleRow),
    claude: z.array(claudeRow).describe('Scheduled tasks and background jobs of Claude Code itself.'),
  }),
  scope: 'read',
  forAgents: true,
  heavyParts: ['discovery'],
  redactOutput: true,
  command: { examples: ['rockpool schedules', 'rockpool schedules list --json'] },
  async run(app, { limit, days }, caller) {
    const all = app.storage.schedules.list(caller.agentId)
    const schedules = all.slice(0, limit).map((schedule) => rowOf(app, schedule, days))
    // Nothing tells whose they are, so agents do not see them.
    const claude = caller.agentId === undefined ? await schedulesOfClaude(app) : []
    return { total: all.length, schedules, claude }
  },
})

async function schedulesOfClaude(app: App): Promise<ClaudeSchedule[]> {
  const { sessions } = await app.discovery().list({ limit: 2_000 })
  return claudeSchedules(
    new Set(sessions.map(({ repoPath }) => repoPath)),
    new Set(sessions.map(({ configDir }) => configDir)),
  )
}

const show = operation({
  name: 'schedules.show',
  description: 'Show a schedule with its policies, its next times and its latest runs.',
  input: z.strictObject({ schedule: scheduleRef }),
  output: scheduleRow.extend({ runs: z.array(runSchema) }),
  scope: 'read',
  forAgents: true,
  heavyParts: [],
  redactOutput: true,
  command: { positional: ['schedule'], examples: ['rockpool schedules show nightly-tests'] },
  async run(app, input, caller) {
    const schedule = find(app, input.schedule, caller)
    const runs = app.storage.schedules.runs({ scheduleId: schedule.id, limit: 20 })
    return { ...rowOf(app, schedule), runs }
  },
})

const pause = operation({
  name: 'schedules.pause',
  description: 'Pause a schedule: no further run begins until it is resumed.',
  input: z.strictObject({ schedule: scheduleRef }),
  output: scheduleRow,
  scope: 'write',
  changesState: true,
  forAgents: true,
  heavyParts: [],
  command: { positional: ['schedule'], examples: ['rockpool schedules pause nightly-tests'] },
  async run(app, input, caller) {
    const schedule = find(app, input.schedule, caller)
    const { id } = schedule
    const byOwner = isOwner(caller)
    const paused = byOwner
      ? 'Paused by the owner.'
      : `Paused by ${caller.agentId === undefined ? 'a program' : 'its agent'}.`
    await app.storage.schedules.change(id, (stored) =>
      stored.paused === undefined || (byOwner && !onlyOwnerResumes(stored)) ? { paused } : undefined,
    )
    await noticeChange(app, schedule)
    return rowOf(app, find(app, id, caller))
  },
})

const resume = operation({
  name: 'schedules.resume',
  description: 'Resume a paused schedule from now on; times while it was paused are not missed.',
  input: z.strictObject({ schedule: scheduleRef }),
  output: scheduleRow,
  scope: 'write',
  changesState: true,
  forAgents: true,
  heavyParts: ['coding'],
  command: { positional: ['schedule'], examples: ['rockpool schedules resume nightly-tests'] },
  async run(app, input, caller) {
    const schedule = find(app, input.schedule, caller)
    const { id } = schedule
    requireAgent(app, schedule.agentId)
    await app.storage.people.ready()
    // The owner who resumes it takes it over from a person who is no longer the owner. Other callers cannot.
    const taken = isOwner(caller) ? await takeOver(chatRightsOf(app), schedule) : {}
    const next = (stored: Schedule): Partial<Schedule> => ({
      paused: undefined,
      ...taken,
      nextDue: nextDue(stored, scheduleClock(app).now()),
    })
    await app.storage.schedules.change(id, (stored) => {
      // The owner may have paused it meanwhile, also on another machine.
      refuseWhatOwnerPaused(stored, 'resume', caller)
      return stored.paused === undefined ? undefined : next(stored)
    })
    await noticeChange(app, schedule)
    return rowOf(app, find(app, id, caller))
  },
})

const runNow = operation({
  name: 'schedules.run',
  description: 'Run a schedule once now, besides its times.',
  input: z.strictObject({ schedule: scheduleRef }),
  output: runSchema,
  scope: 'write',
  changesState: true,
  forAgents: true,
  needsGateway: true,
  heavyParts: ['coding'],
  command: { positional: ['schedule'], examples: ['rockpool schedules run nightly-tests'] },
  async run(app, input, caller) {
    const schedule = find(app, input.schedule, caller)
    refuseWhatOwnerPaused(schedule, 'run', caller)
    // The run acts for the caller, too, so it needs the rights of both.
    const { action } = schedule
    if (action.kind === 'coding') await refuseSession(app, action.session, caller, launcherOf(schedule))
    const now = scheduleClock(app).now()
    const run = { ...newRun(schedule, now, now), beginAt: now, manual: true, byOwner: isOwner(caller) }
    await app.storage.schedules.addRun(run)
    await app.schedules().look()
    return app.storage.schedules.run(run.id) ?? run
  },
})

const remove = operation({
  name: 'schedules.remove',
  description: 'Remove a schedule. Runs that have begun continue; the log keeps them.',
  input: z.strictObject({ schedule: scheduleRef }),
  output: z.object({ removed: z.string() }),
  scope: 'write',
  changesState: true,
  destructive: true,
  forAgents: true,
  heavyParts: [],
  command: {
    positional: ['schedule'],
    confirmIfFound: ({ schedule }) => ({ name: 'schedules.show', input: { schedule } }),
    examples: ['rockpool schedules remove nightly-tests --yes'],
  },
  async run(app, input, caller) {
    const schedule = find(app, input.schedule, caller)
    await app.storage.schedules.remove(schedule.id)
    await noticeChange(app, schedule)
    return { removed: schedule.name }
  },
})

const log = operation({
  name: 'schedules.log',
  description: 'Show the runs: when each was due, began, ended and was announced, and what it cost.',
  input: z.strictObject({
    schedule: scheduleRef.optional(),
    limit: z.int().min(1).max(1_000).default(50).describe('How many at most.'),
  }),
  output: z.object({ runs: z.array(runSchema.extend({ name: z.string() })) }),
  scope: 'read',
  forAgents: true,
  heavyParts: [],
  redactOutput: true,
  command: {
    positional: ['schedule'],
    examples: ['rockpool schedules log', 'rockpool schedules log nightly-tests'],
  },
  async run(app, { schedule: ref, limit }, caller) {
    const { schedules } = app.storage
    const scheduleId = ref === undefined ? undefined : find(app, ref, caller).id
    const names = new Map(schedules.list().map(({ id, name }) => [id, name]))
    const runs = schedules.runs({ scheduleId, agentId: caller.agentId, limit })
    return { runs: runs.map((run) => ({ ...run, name: names.get(run.scheduleId) ?? run.scheduleId })) }
  },
})

export const operations = [list, show, addSchedule, pause, resume, runNow, remove, log]
