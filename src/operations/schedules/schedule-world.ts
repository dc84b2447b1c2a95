// The runner of this process, and where its runs begin: in the conversations and the coding sessions of the app.
import { hostname } from 'node:os'
import { ownerGives } from '../../domain/giver.ts'
import type { Schedule } from '../../domain/schedule.ts'
import { endOfLimit } from '../../agent/turn-failures.ts'
import { reservedUntil } from '../../domain/usage-window.ts'
import { ScheduleRunner } from '../../schedules/schedule-runner.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import { launchCoding } from '../coding/coding-launch.ts'
import type { Caller } from '../operation.ts'
import { scheduleActions } from './schedule-actions.ts'
import type { CodingAction, ScheduleWorld } from './schedule-actions.ts'
import { chatRightsOf } from './schedule-refusal.ts'
import { scheduleClock } from './schedule-row.ts'

export function openScheduleRunner(app: App): ScheduleRunner {
  const { storage, log } = app
  const { cluster } = storage
  return new ScheduleRunner({
    store: storage.schedules,
    actions: scheduleActions(worldOf(app)),
    clock: scheduleClock(app),
    log,
    machine: cluster?.machines.name ?? hostname(),
    lives: async (machine) => (await cluster?.machines.lives(machine)) === true,
    refresh: cluster && (() => cluster.refresh()),
    onChange: ({ agentId, id }) => app.events.emit({ type: 'schedule-changed', agentId, id }),
  })
}

function worldOf(app: App): ScheduleWorld {
  const { storage } = app
  const clock = scheduleClock(app)
  const { work, coding, schedules } = storage
  return {
    ...chatRightsOf(app),
    clock,
    work,
    coding,
    schedules,
    requireAgent(agentId) {
      // On a shared database the schedule may be of an agent that only another machine has.
      if (!app.storage.cluster) requireAgent(app, agentId)
    },
    hand: async (request) => (await app.conversations()).hand(request),
    wake: async (request) => (await app.conversations()).wake(request),
    stopInput: async (sessionKey, inputKey) => (await app.conversations()).stopInput(sessionKey, inputKey),
    launch: (schedule, action, id, maxBudgetUsd) => launch(app, schedule, action, id, maxBudgetUsd),
    // It goes on with what the schedule launched.
    resume: (id, prompt) => app.coding().givenBy(ownerGives).resume(id, prompt),
    kill: (id) => app.coding().pool.kill(id),
    limitEnd() {
      const now = clock.now()
      const until = reservedUntil(storage.usage.current(now), 0, now)
      return until === undefined ? undefined : endOfLimit(until, { now, timeZone: app.config.timeZone })
    },
  }
}

async function launch(
  app: App,
  schedule: Schedule,
  action: CodingAction,
  id: string,
  maxBudgetUsd: number | undefined,
): Promise<void> {
  const { agentId, byAgent, withoutApprove, tell: originChannel, name } = schedule
  const caller = launcherOf(schedule)
  const input = {
    prompt: action.text,
    workdir: action.workdir,
    agent: agentId,
    model: action.model,
    maxBudgetUsd,
    resumeSessionId: action.session,
    forkSession: false,
    fresh: action.session === undefined,
    multiTurnDisabled: true,
    originChannel,
    name: `${name.slice(0, 50)}-${id.slice(0, 8)}`,
    by: { agentId: byAgent ? agentId : undefined, mayApprove: !byAgent && !withoutApprove },
  }
  await launchCoding(app, input, caller, id)
}

/** The caller that launches the coding sessions of a schedule. */
export function launcherOf({ byAgent, agentId }: Schedule): Caller {
  return { via: 'rpc', scopes: ['read', 'write'], agentId: byAgent ? agentId : undefined }
}
