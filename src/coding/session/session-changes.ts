// The new values in the row of a session: at launch, during and after a turn, at its end, when it starts again, when it moves to
// another machine. Everything here is pure.
import { randomUUID } from 'node:crypto'
import type {
  CodingLifecycle,
  CodingOwner,
  CodingRequest,
  CodingSession,
  CodingStatus,
  EndReason,
  UsageLimit,
} from '../../domain/coding-session.ts'
import { isRunning } from '../../domain/coding-session.ts'
import type { TurnEvent, TurnResult } from '../../domain/turn.ts'
import { generateSessionName, newCodingId, oneLine } from './names.ts'

type Fields = Partial<CodingSession>

/** Options of a start that are not part of the request. */
export interface LaunchOptions {
  aside?: string
  /** Chosen by the machine that asks, so that a repeated request launches once. */
  id?: string
  /** Rockpool chose the conversation; if another session has it by now, it chooses again when the repository is free. */
  isChosen?: boolean
  /** The agent that launches it, which does not learn the names of other agents' sessions; a person when absent. */
  viewer?: string
}

export function launched(
  request: CodingRequest,
  { aside, id = newCodingId() }: LaunchOptions,
  by: { owner: CodingOwner; machine?: string; now: number },
): CodingSession {
  return {
    id,
    name: request.name ?? generateSessionName(request.prompt),
    newSdkSessionId: randomUUID(),
    request,
    status: 'starting',
    lifecycle: 'queued',
    machine: by.machine,
    aside,
    owner: by.owner,
    createdAt: by.now,
    lastActivityAt: by.now,
    budgetUsd: request.budgetUsd,
    allowances: {},
    costUsd: 0,
    turns: 0,
    autoResponds: 0,
    waitedMs: 0,
    inbox: [request.prompt],
    given: [],
    lastSeq: 0,
    resumedFrom: request.resume?.sdkSessionId,
  }
}

/** The session chooses its conversation when its repository is free. */
export function choosingLater(session: CodingSession): CodingSession {
  const request = { ...session.request, resume: undefined, chooseWhenFree: true }
  return { ...session, request, resumedFrom: undefined }
}

export function afterEvent(event: TurnEvent): Fields | undefined {
  if (event.type === 'session-id') return { sdkSessionId: event.sdkSessionId }
  if (event.type !== 'turn-start') return undefined
  const { model, sdkSessionId } = event
  return { status: 'running', lifecycle: 'active', model, sdkSessionId }
}

export function afterTurn(session: CodingSession, result: TurnResult, costUsd: number): Fields {
  return {
    ...withoutGiven(session, result.prompts),
    turns: session.turns + 1,
    costUsd,
    sdkSessionId: result.sdkSessionId ?? session.sdkSessionId,
    contextTokens: result.contextTokens ?? session.contextTokens,
    contextWindow: result.contextWindow ?? session.contextWindow,
    doing: undefined,
    answered: undefined,
    lastWords: oneLine(result.text, 200) || session.lastWords,
  }
}

/** A person has looked at the session, or sent it a message. */
export const seen: Pick<CodingSession, 'unseen' | 'expired'> = { unseen: undefined, expired: undefined }

/** Claude has processed these messages, or they were withdrawn. */
export function withoutGiven(
  { given }: CodingSession,
  uuids: readonly string[],
): Pick<CodingSession, 'given'> {
  return { given: given.filter(({ uuid }) => !uuids.includes(uuid)) }
}

/** If a person ended the session, a later resume does not deliver the rest of its messages. */
const noMessages: Pick<CodingSession, 'inbox' | 'given'> = { inbox: [], given: [] }

interface Ending {
  status: CodingStatus
  lifecycle: CodingLifecycle
  end: { reason: EndReason; message: string; at: number; limit?: UsageLimit; queued?: boolean }
}

export function ended(session: CodingSession, how: Ending): Fields {
  const { waiting } = session
  const isByPerson = how.end.reason === 'user'
  const messages = isByPerson ? { ...noMessages, ...seen } : {}
  const end = isByPerson ? { ...how.end, lost: lostAtEnd(session) } : how.end
  const { status, lifecycle } = how
  // A person must look at a result or a failure. The person who ended a session knows that already.
  const hasNews = status === 'failed' || (status === 'completed' && lifecycle === 'ended')
  const unseen = hasNews ? { unseen: true } : {}
  // A session whose process was stopped still waits for the same answer.
  const stillWaits = status !== 'failed' && lifecycle === 'suspended' && how.end.reason !== 'released'
  const over = { doing: undefined, writing: undefined, owner: undefined }
  return { ...how, end, ...over, waiting: stillWaits ? waiting : undefined, ...unseen, ...messages }
}

type Lost = NonNullable<CodingSession['end']>['lost']

/** What the end by a person takes from the session: undoing the end does not bring it back. */
function lostAtEnd({ lifecycle, waiting, inbox, end }: CodingSession): Lost {
  // The session was ended before and brought back: what the first end took is still lost.
  if (lifecycle === 'suspended' && end?.lost) return end.lost
  if (waiting && waiting.for !== 'input') return 'request'
  const isBetweenTurns =
    waiting !== undefined ||
    lifecycle === 'queued' ||
    (lifecycle === 'suspended' && end?.reason === 'released')
  if (!isBetweenTurns) return 'turn'
  return inbox.length > 0 ? 'messages' : undefined
}

const lostTexts: Record<NonNullable<Lost>, string> = {
  turn: 'It was ended during its turn.',
  request: 'It was ended while it waited for an answer, and its request is withdrawn.',
  messages: 'It was ended before it received its last message, which is withdrawn.',
}

/** Does the session only wait for its next message? */
export function isIdle({ waiting, inbox, given }: CodingSession): boolean {
  return waiting?.for === 'input' && inbox.length === 0 && given.length === 0
}

/** The end of the process of a session that only waited for its next message. The session has lost nothing: its turns are
 *  complete, and the end has no message and is not announced. */
export function suspendedIdle(session: CodingSession, reason: EndReason, at: number): Fields {
  const end = { reason, message: '', at }
  return ended(session, { status: 'completed', lifecycle: 'suspended', end })
}

/** Undoes an end by a person: the session waits for its next message, as after a restart. A session that lost its turn is
 *  stopped, not ready. */
export function reopened({ end }: CodingSession, now: number): Fields {
  const lost = end?.lost
  if (!end || lost === undefined)
    return {
      status: 'completed',
      lifecycle: 'suspended',
      waiting: { for: 'input', since: now, about: '' },
      unseen: true,
    }
  const message = `${lostTexts[lost]} Send a message to continue.`
  return { lifecycle: 'suspended', waiting: undefined, end: { ...end, message } }
}

/** A session whose start was cut off, as it was before its first turn. `given` stays: the next start checks whether Claude
 *  has received those messages. */
export function requeued({ given, inbox, request }: CodingSession): Fields {
  return {
    status: 'starting',
    lifecycle: 'queued',
    owner: undefined,
    startedAt: undefined,
    waiting: undefined,
    inbox: given.length + inbox.length > 0 ? inbox : [request.prompt],
  }
}

interface ResumeRequest {
  /** In the order of their delivery. */
  messages: string[]
  owner: CodingOwner
  machine?: string
  workdir: string
  origin?: Partial<Pick<CodingRequest, 'originChannel' | 'originThreadId' | 'originSessionKey'>>
  multiTurn?: boolean
  aside?: string
  /** The id of the request that a person answered while the session was not running. */
  answered?: string
  autoResponds?: number
}

/** A resumed session is the same one: it keeps its name, its id, its output and its rules. */
export function resumed(session: CodingSession, how: ResumeRequest): Fields {
  const { request, end, costUsd, aside } = session
  const multiTurn = how.multiTurn ?? request.multiTurn
  return {
    ...seen,
    status: 'starting',
    lifecycle: 'queued',
    request: { ...request, ...how.origin, workdir: how.workdir, multiTurn, chooseWhenFree: undefined },
    owner: how.owner,
    machine: how.machine ?? session.machine,
    waiting: undefined,
    end: undefined,
    inbox: how.messages,
    given: [],
    aside: how.aside ?? aside,
    answered: how.answered,
    autoResponds: how.autoResponds ?? 0,
    // Resuming a session that used up its budget means: continue with the same amount again.
    budgetUsd: end?.reason === 'budget' ? costUsd + request.budgetUsd : session.budgetUsd,
  }
}

export interface HandOver {
  machine: string
  /** The repository on that machine. */
  workdir: string
  /** Text for Claude, placed before the next message. */
  aside: string
}

export const continuePrompt = 'Continue where you left off.'

/** `pending`: the messages that Claude does not know. `wasCut`: a turn was stopped for the move. */
export function handedOver(
  session: CodingSession,
  { machine, workdir, aside }: HandOver,
  { pending, wasCut }: { pending: string[]; wasCut: boolean } = { pending: session.inbox, wasCut: false },
): Fields {
  const { request, sdkSessionId, turns, inbox } = session
  const place = { machine, aside, request: { ...request, workdir }, owner: undefined, doing: undefined }
  // A session that has ended is resumed on that machine.
  if (!isRunning(session)) return place
  if (sdkSessionId === undefined && turns === 0) return { ...place, ...requeued(session), aside: undefined }
  // Claude has received the message of a turn that was cut if nothing but the inbox is pending: that turn continues.
  const messages = wasCut && pending.length === inbox.length ? [continuePrompt, ...pending] : pending
  if (messages.length === 0) return { ...place, status: 'running', lifecycle: 'awaiting-input', given: [] }
  return { ...place, status: 'starting', lifecycle: 'queued', waiting: undefined, given: [], inbox: messages }
}

type Waited = Pick<CodingSession, 'waitedMs' | 'waitsSince'>

/** The time that the session waited for people, including the current wait. Questions open at the same time count once. */
export function waitedOf({ waitedMs, waitsSince }: Waited, now: number): number {
  return waitsSince === undefined ? waitedMs : waitedMs + Math.max(0, now - waitsSince)
}

/** Updates the total waiting time when `waiting` changes. While no process runs the session, no time is counted. */
export function withWaitingTime(session: CodingSession, change: Fields, now: number): Partial<Waited> {
  if (!('waiting' in change)) return {}
  if (change.waiting && !change.end) return { waitsSince: session.waitsSince ?? change.waiting.since }
  return { waitedMs: waitedOf(session, now), waitsSince: undefined }
}
