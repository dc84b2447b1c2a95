// The actions of schedules. Each run begins under a key or an id that follows from the run, and the inbox, the outbox and the
// coding store accept it once. So a repeat after a crash, also on another machine, finds what was begun and follows it.
import { createHash } from 'node:crypto'
import { continuePrompt } from '../../coding/session/session-changes.ts'
import { formatOriginChannel, isPrivateChat, parseOriginChannel } from '../../domain/address.ts'
import type { Clock } from '../../domain/clock.ts'
import { isWorking } from '../../domain/coding-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { isLimited, wasCutOff } from '../../domain/coding-state.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { noticeFor } from '../../domain/reply.ts'
import { untrustedWriter } from '../../rights/author.ts'
import type { Schedule, ScheduledAction, ScheduleRun } from '../../domain/schedule.ts'
import type { AskRequest } from '../../flow/asked-input.ts'
import type { WakeRequest } from '../../flow/heartbeat.ts'
import { keepKeysMs } from '../../flow/turn-recovery.ts'
import type { RunOutcome, ScheduleActions } from '../../schedules/schedule-runner.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import type { ScheduleStore } from '../../store/sqlite/schedule-store.ts'
import type { WorkStore } from '../../store/work-store.ts'
import { refusalOf } from './schedule-refusal.ts'
import type { ChatRights } from './schedule-refusal.ts'

/** The parts of Rockpool in which runs begin; `schedule-world.ts` takes them from the app. */
export interface ScheduleWorld extends ChatRights {
  clock: Clock
  work: Pick<WorkStore, 'inbox' | 'lanes' | 'outbox'>
  coding: Pick<CodingStore, 'get'>
  schedules: Pick<ScheduleStore, 'spentUsd'>
  /** Throws if there is no such agent. */
  requireAgent: (agentId: string) => void
  hand: (request: AskRequest) => Promise<void>
  wake: (request: WakeRequest) => Promise<unknown>
  /** Stops the turn of one message, or the message while it waits. */
  stopInput: (sessionKey: string, inputKey: string) => Promise<unknown>
  /** The same id launches once. */
  launch: (schedule: Schedule, action: CodingAction, id: string, maxBudgetUsd?: number) => Promise<unknown>
  resume: (id: string, prompt: string) => Promise<unknown>
  kill: (id: string) => Promise<unknown>
  /** When the usage limit ends that stops turns now, for people. */
  limitEnd: () => string | undefined
}
export type CodingAction = Extract<ScheduledAction, { kind: 'coding' }>
type MessageAction = Extract<ScheduledAction, { kind: 'message' }>
type Turn = Extract<ScheduledAction, { kind: 'turn' | 'wake' }>

export function scheduleActions(world: ScheduleWorld): ScheduleActions {
  return {
    advance: (schedule, run) => advance(world, schedule, run),
    stop: (schedule, run) => stop(world, schedule, run),
    refusal: (schedule) => refusalOf(world, schedule),
    tell: (schedule, run, text) => tell(world, schedule, run, text),
  }
}

async function advance(
  world: ScheduleWorld,
  schedule: Schedule,
  run: ScheduleRun,
): Promise<RunOutcome | undefined> {
  const { action } = schedule
  world.requireAgent(schedule.agentId)
  switch (action.kind) {
    case 'message':
      if (isKeyExpired(world, run)) return unknownOutcome('the message was sent')
      await sendMessage(world, schedule, action, run)
      return { state: 'ended', note: `Sent to ${action.to}.`, costUsd: 0 }
    case 'coding':
      return followCoding(world, schedule, action, run)
    default:
      return followTurn(world, schedule, action, run)
  }
}

/** The inbox and the outbox forget old keys. A run that began before cannot be repeated safely: it may have done its work. */
function isKeyExpired({ clock }: ScheduleWorld, { begunAt = clock.now() }: ScheduleRun): boolean {
  return clock.now() - begunAt > keepKeysMs - 86_400_000
}

function unknownOutcome(what: string): RunOutcome {
  const note = `No gateway ran for days after this run began: it is not known whether ${what}. It is not repeated.`
  return { state: 'failed', note, costUsd: 0 }
}

/** A machine that the others consider dead may begin the same run at the same moment. One of the two gets `conflict` and follows
 *  the run. */
async function beginOnce(
  begin: () => Promise<unknown>,
  hasBegun: () => boolean | Promise<boolean>,
): Promise<void> {
  try {
    await begin()
  } catch (error) {
    if (asRockpoolError(error).code !== 'conflict' || !(await hasBegun())) throw error
  }
}

/** A turn in the agent's main session, or in the named one. Its reply goes to the chat of that session. A session without a turn
 *  has no chat yet; the reply then goes to where the schedule was added. */
async function followTurn(
  world: ScheduleWorld,
  schedule: Schedule,
  action: Turn,
  run: ScheduleRun,
): Promise<RunOutcome | undefined> {
  const inputKey = inputKeyOf(action, run)
  const state = await world.work.inbox.state(inputKey)
  if (state === undefined) {
    if (isKeyExpired(world, run)) return unknownOutcome('its turn was taken')
    await beginOnce(
      () => beginTurn(world, schedule, action, keyOf(run)),
      () => world.work.inbox.knows(inputKey),
    )
    return undefined
  }
  if (state === 'waiting' || state === 'running') return undefined
  const [turn] = await world.work.lanes.history({ inputKey })
  const isDone = state === 'answered' || state === 'command'
  return {
    state: isDone ? 'ended' : 'failed',
    note: isDone ? 'The agent took its turn.' : whyTurnFailed(world, turn?.end ?? state),
    costUsd: turn?.costUsd ?? 0,
  }
}

const keyOf = ({ id }: ScheduleRun): string => `schedule:${id}`

/** The key of the run's message in the inbox. */
function inputKeyOf({ kind }: Turn, run: ScheduleRun): string {
  return `${kind === 'wake' ? 'wake' : 'ask'}:${keyOf(run)}`
}

/** For the log of the schedule and the notice to people. */
export function whyTurnFailed({ limitEnd }: Pick<ScheduleWorld, 'limitEnd'>, end: string): string {
  const reasons: Readonly<Record<string, string>> = {
    'budget-reached': 'The turn reached its budget and was stopped.',
    'rate-limited': ["Claude's usage limit is reached.", limitEnd()].filter(Boolean).join(' '),
    interrupted: 'The turn was stopped.',
  }
  return reasons[end] ?? `The turn ended: ${end}.`
}

async function beginTurn(world: ScheduleWorld, schedule: Schedule, action: Turn, key: string): Promise<void> {
  const { agentId, author: askedBy, name } = schedule
  const maxBudgetUsd = budgetOfRun(world, schedule)
  const { text } = action
  const sessionKey = sessionKeyOf(world, schedule, action)
  if (action.kind === 'wake') {
    await world.wake({ text, agentId, sessionKey, key, askedBy, maxBudgetUsd })
    return
  }
  const route = await world.addressOf(agentId, sessionKey)
  const address = route ?? (action.to === undefined ? undefined : parseOriginChannel(action.to))
  await world.hand({
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
function budgetOfRun(
  world: ScheduleWorld,
  { id, runBudgetUsd, totalBudgetUsd }: Schedule,
): number | undefined {
  if (totalBudgetUsd === undefined) return runBudgetUsd
  return Math.min(runBudgetUsd ?? Infinity, totalBudgetUsd - world.schedules.spentUsd(id))
}

function sessionKeyOf(world: ScheduleWorld, { agentId }: Schedule, { sessionKey }: Turn): string {
  return sessionKey ?? world.mainSessionOf(agentId)
}

/** A session for each run, under an id that follows from the run. One that a stop of Rockpool interrupted is continued. */
async function followCoding(
  world: ScheduleWorld,
  schedule: Schedule,
  action: CodingAction,
  run: ScheduleRun,
): Promise<RunOutcome | undefined> {
  const id = codingIdOf(run)
  const session = world.coding.get(id)
  if (!session) {
    await beginOnce(
      () => world.launch(schedule, action, id, budgetOfRun(world, schedule)),
      () => world.coding.get(id) !== undefined,
    )
    return undefined
  }
  if (isWorking(session) || isLimited(session)) return undefined
  if (wasCutOff(session)) {
    await world.resume(id, continuePrompt)
    return undefined
  }
  return outcomeOf(session)
}

function outcomeOf({ id, status, name, lastWords, end, costUsd }: CodingSession): RunOutcome {
  const isDone = status === 'completed' || status === 'running'
  const words = isDone ? lastWords : end?.message
  return { state: isDone ? 'ended' : 'failed', note: `${name}: ${words || status}`, costUsd, codingId: id }
}

/** Begins with a letter, as other ids of coding sessions. It has 80 bits, so that no two runs ever get the same id: the later of
 *  them would find the session of the earlier one and do nothing. */
export function codingIdOf({ id }: Pick<ScheduleRun, 'id'>): string {
  return `S${createHash('sha256').update(id).digest('hex').slice(0, 20)}`
}

async function stop(world: ScheduleWorld, schedule: Schedule, run: ScheduleRun): Promise<void> {
  const { action } = schedule
  if (action.kind === 'coding') {
    if (world.coding.get(codingIdOf(run))) await world.kill(codingIdOf(run))
  } else if (action.kind !== 'message')
    await world.stopInput(sessionKeyOf(world, schedule, action), inputKeyOf(action, run))
}

/** To the chat of the schedule, unless that is a private chat of another person than the owner; the log of the schedule has it. */
async function tell(world: ScheduleWorld, schedule: Schedule, run: ScheduleRun, text: string): Promise<void> {
  const address = schedule.tell === undefined ? undefined : parseOriginChannel(schedule.tell)
  if (address && isPrivateChat(address) && !world.isOwners(address)) return
  if (!address) return
  const notice = noticeFor(address, text, `schedule-told:${run.id}`, world.clock.now())
  await world.work.outbox.leave([{ ...notice, forOwner: true }])
}

/** A person without access gets it only if the operator named or accepted the chat; the outbox asks again when it is sent. */
async function sendMessage(
  world: ScheduleWorld,
  { author, strangers = [], addedIn }: Schedule,
  { to, text }: MessageAction,
  run: ScheduleRun,
): Promise<void> {
  const address = parseOriginChannel(to)
  if (!address) throw new RockpoolError('input-invalid', `${to} is not a chat.`, { hint: 'channel|target' })
  const notice = noticeFor(address, text, `schedule:${run.id}`, world.clock.now())
  const forAnybody = strangers.includes(formatOriginChannel(address))
  // What an owner added in a chat runs only while that chat is the owner's.
  const forOwner = addedIn !== undefined && world.isOwners(address)
  await world.work.outbox.leave([{ ...notice, forAnybody, forOwner, writer: untrustedWriter(author) }])
}
