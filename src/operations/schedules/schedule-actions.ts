// What schedules do. Each run begins under a key or an id that follows from the run, and the inbox, the outbox and the coding store
// accept it once. So a repeat after a crash, also on another machine, finds what was begun and follows it.
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { continuePrompt } from '../../coding/session/session-changes.ts'
import { parseOriginChannel } from '../../domain/address.ts'
import { isWorking } from '../../domain/coding-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { isLimited, wasCutOff } from '../../domain/coding-state.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Schedule, ScheduledAction, ScheduleRun } from '../../domain/schedule.ts'
import { addressOfSession } from '../../domain/session.ts'
import { buildAgentMainSessionKey } from '../../domain/session-key.ts'
import { noticeFor } from '../../domain/reply.ts'
import { keepKeysMs } from '../../flow/turn-recovery.ts'
import { ScheduleRunner } from '../../schedules/schedule-runner.ts'
import type { RunOutcome, ScheduleActions } from '../../schedules/schedule-runner.ts'
import type { App } from '../app.ts'
import { launchCoding } from '../coding/coding-launch.ts'
import type { Caller } from '../operation.ts'

export function openScheduleRunner(app: App): ScheduleRunner {
  const { storage, clock, log } = app
  const { cluster } = storage
  return new ScheduleRunner({
    store: storage.schedules,
    actions: scheduleActions(app),
    clock,
    log,
    machine: cluster?.machines.name ?? hostname(),
    lives: async (machine) => (await cluster?.machines.lives(machine)) === true,
    refresh: cluster && (() => cluster.refresh()),
  })
}

function scheduleActions(app: App): ScheduleActions {
  return {
    advance: (schedule, run) => advance(app, schedule, run),
    stop: (schedule, run) => stop(app, schedule, run),
    tell: (schedule, run, text) => tell(app, schedule, run, text),
  }
}

async function advance(app: App, schedule: Schedule, run: ScheduleRun): Promise<RunOutcome | undefined> {
  const { action } = schedule
  switch (action.kind) {
    case 'message':
      if (isKeyExpired(app, run)) return unknownOutcome('the message was sent')
      await send(app, action.to, action.text, `schedule:${run.id}`)
      return { state: 'ended', note: `Sent to ${action.to}.`, costUsd: 0 }
    case 'coding':
      return followCoding(app, schedule, action, run)
    default:
      return followTurn(app, schedule, action, run)
  }
}

/** The inbox and the outbox forget old keys. A run that began before cannot be repeated safely: it may have done its work. */
function isKeyExpired({ clock }: App, { begunAt = clock.now() }: ScheduleRun): boolean {
  return clock.now() - begunAt > keepKeysMs - 86_400_000
}

function unknownOutcome(what: string): RunOutcome {
  const note = `No gateway ran for days after this run began: it is not known whether ${what}. It is not repeated.`
  return { state: 'failed', note, costUsd: 0 }
}

type Turn = Extract<ScheduledAction, { kind: 'turn' | 'wake' }>

/** A turn in the agent's main session, or in the named one. Its reply goes to the chat of that session. */
async function followTurn(
  app: App,
  schedule: Schedule,
  action: Turn,
  run: ScheduleRun,
): Promise<RunOutcome | undefined> {
  const key = `schedule:${run.id}`
  const inputKey = action.kind === 'wake' ? `wake:${key}` : `ask:${key}`
  const state = await app.storage.work.inbox.state(inputKey)
  if (state === undefined) {
    if (isKeyExpired(app, run)) return unknownOutcome('its turn was taken')
    await beginTurn(app, schedule, action, key)
    return undefined
  }
  if (state === 'waiting' || state === 'running') return undefined
  const [turn] = await app.storage.work.lanes.history({ inputKey })
  const isDone = state === 'answered' || state === 'command'
  return {
    state: isDone ? 'ended' : 'failed',
    note: isDone ? 'The agent took its turn.' : whyTurnFailed(turn?.end ?? state),
    costUsd: turn?.costUsd ?? 0,
  }
}

function whyTurnFailed(end: string): string {
  const reasons: Readonly<Record<string, string>> = {
    'budget-reached': 'The turn reached its budget and was stopped.',
    'rate-limited': "Claude's usage limit is reached.",
    interrupted: 'The turn was stopped.',
  }
  return reasons[end] ?? `The turn ended: ${end}.`
}

async function beginTurn(app: App, schedule: Schedule, action: Turn, key: string): Promise<void> {
  const { agentId, author: askedBy, name } = schedule
  const maxBudgetUsd = budgetOfRun(app, schedule)
  const { text } = action
  const conversations = await app.conversations()
  const sessionKey = sessionKeyOf(app, schedule, action)
  if (action.kind === 'wake') {
    await conversations.wake({ text, agentId, sessionKey, key, askedBy, maxBudgetUsd })
    return
  }
  const address = addressOfSession(await app.storage.sessions(agentId).get(sessionKey))
  await conversations.hand({
    agentId,
    sessionKey,
    text,
    from: `schedule ${name}`,
    address,
    deliver: address !== undefined,
    mayCommand: false,
    askedBy,
    maxBudgetUsd,
    key,
  })
}

/** The budget of each run, and no more than what is left of the total. */
function budgetOfRun(app: App, { id, runBudgetUsd, totalBudgetUsd }: Schedule): number | undefined {
  if (totalBudgetUsd === undefined) return runBudgetUsd
  return Math.min(runBudgetUsd ?? Infinity, totalBudgetUsd - app.storage.schedules.spentUsd(id))
}

function sessionKeyOf(app: App, { agentId }: Schedule, { sessionKey }: Turn): string {
  return sessionKey ?? buildAgentMainSessionKey({ agentId, mainKey: app.config.session.mainKey })
}

/** A session for each run, under an id that follows from the run. One that a stop of Rockpool interrupted is continued. */
async function followCoding(
  app: App,
  schedule: Schedule,
  action: Extract<ScheduledAction, { kind: 'coding' }>,
  run: ScheduleRun,
): Promise<RunOutcome | undefined> {
  const id = codingIdOf(run)
  const session = app.storage.coding.get(id)
  if (!session) {
    await launch(app, schedule, action, id)
    return undefined
  }
  if (isWorking(session) || isLimited(session)) return undefined
  if (wasCutOff(session)) {
    await app.coding().pool.resume(id, continuePrompt)
    return undefined
  }
  return outcomeOf(session)
}

async function launch(
  app: App,
  schedule: Schedule,
  action: Extract<ScheduledAction, { kind: 'coding' }>,
  id: string,
): Promise<void> {
  const { agentId, byAgent, tell: originChannel, name } = schedule
  const caller: Caller = { via: 'rpc', scopes: ['read', 'write'], agentId: byAgent ? agentId : undefined }
  const input = {
    prompt: action.text,
    workdir: action.workdir,
    agent: agentId,
    model: action.model,
    maxBudgetUsd: budgetOfRun(app, schedule),
    resumeSessionId: action.session,
    forkSession: false,
    fresh: action.session === undefined,
    multiTurnDisabled: true,
    originChannel,
    name: `${name.slice(0, 50)}-${id}`,
    boundTo: byAgent ? agentId : undefined,
  }
  await launchCoding(app, input, caller, id)
}

function outcomeOf({ status, name, lastWords, end, costUsd }: CodingSession): RunOutcome {
  const isDone = status === 'completed' || status === 'running'
  const words = isDone ? lastWords : end?.message
  return { state: isDone ? 'ended' : 'failed', note: `${name}: ${words || status}`, costUsd }
}

/** Begins with a letter, as other ids of coding sessions. It has 80 bits, so that no two runs ever get the same id: the later of
 *  them would find the session of the earlier one and do nothing. */
function codingIdOf({ id }: Pick<ScheduleRun, 'id'>): string {
  return `S${createHash('sha256').update(id).digest('hex').slice(0, 20)}`
}

async function stop(app: App, { action, ...schedule }: Schedule, run: ScheduleRun): Promise<void> {
  if (action.kind === 'coding') {
    if (app.storage.coding.get(codingIdOf(run))) await app.coding().pool.kill(codingIdOf(run))
  } else if (action.kind !== 'message') {
    const conversations = await app.conversations()
    await conversations.stopTurn(sessionKeyOf(app, { action, ...schedule }, action))
  }
}

/** To the chat of the schedule; without one the log of the schedule has it. */
async function tell(app: App, schedule: Schedule, run: ScheduleRun, text: string): Promise<void> {
  if (schedule.tell !== undefined) await send(app, schedule.tell, text, `schedule-told:${run.id}`)
}

async function send(app: App, to: string, text: string, key: string): Promise<void> {
  const address = parseOriginChannel(to)
  if (!address) throw new RockpoolError('input-invalid', `${to} is not a chat.`, { hint: 'channel|target' })
  await app.storage.work.outbox.leave([noticeFor(address, text, key, app.clock.now())])
}
