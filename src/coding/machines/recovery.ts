// Sessions whose owner died. A session that has a conversation becomes suspended; one that never reached Claude, or whose next
// turn has not begun, is queued again. Every command does this first, whether a gateway runs or not.
import { randomUUID } from 'node:crypto'
import type { AgentRuntime, Resumable } from '../../domain/agent.ts'
import { sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { isOn, kindOf, type CodingSession, type EndReason } from '../../domain/coding-session.ts'
import type { CodingParts, SessionParts } from '../coding-parts.ts'
import { cannotResume, notReopened, notResumable } from '../refusals.ts'
import type { LiveRecord } from '../session/live-record.ts'
import {
  continuePrompt,
  ended,
  isIdle,
  reopened,
  requeued,
  suspendedIdle,
  withWaitingTime,
} from '../session/session-changes.ts'
import { isSameOwner, nameOfOwner } from './owner.ts'

/** Resolves to the sessions whose owner is gone. */
export async function recoverOrphans(parts: CodingParts): Promise<CodingSession[]> {
  const running = parts.store.list({ running: true })
  const orphans = running.filter((session) => session.owner && !parts.owners.ownerLives(session))
  for (const session of orphans) {
    await storeUnfinishedText(parts, session)
    if (isTurnAhead(session) && isOn(parts.owners.machine, session)) await giveUp(parts, session)
    else if (session.sdkSessionId) await suspendOrphan(parts, session)
    else {
      // It starts again from its first message, and asks again.
      await parts.approvals.expireOpen((approval) => approval.codingId === session.id)
      await requeue(parts, session)
    }
  }
  return orphans
}

/** In the gateway: sessions that waited in the queue of this machine when it died, and that another machine has suspended since, are
 *  queued again, unless their conversation continued in another session. */
export async function requeueSuspended({ store, owners, events }: CodingParts): Promise<void> {
  const isCutOff = ({ lifecycle, end }: CodingSession): boolean =>
    lifecycle === 'suspended' && end?.queued === true
  const isLatest = ({ id, sdkSessionId = '' }: CodingSession): boolean =>
    store.latestRun(sdkSessionId)?.id === id
  const cutOff = store.list({ cutOff: true }).filter((session) => isOn(owners.machine, session))
  for (const { id } of cutOff.filter(isLatest)) {
    const { lifecycle } = await store.update(id, (stored) => {
      if (isCutOff(stored)) Object.assign(stored, { status: 'starting', lifecycle: 'queued', end: undefined })
    })
    events.emit({ type: 'coding-changed', id, why: lifecycle })
  }
}

/** Does the session wait in the queue for the next turn of its conversation? Then Claude has none of the messages in the inbox: a
 *  message leaves it before Claude gets it. */
function isTurnAhead({ sdkSessionId, lifecycle, inbox, given }: CodingSession): boolean {
  return sdkSessionId !== undefined && lifecycle === 'queued' && inbox.length > 0 && given.length === 0
}

/** The next gateway starts the session, as after an orderly stop. */
async function giveUp({ store, events }: SessionParts, { id, owner }: CodingSession): Promise<void> {
  await store.update(id, (stored) => {
    if (isSameOwner(stored.owner, owner)) stored.owner = undefined
  })
  events.emit({ type: 'coding-changed', id, why: 'queued' })
}

async function suspendOrphan(parts: CodingParts, session: CodingSession): Promise<void> {
  if (isIdle(session)) await storeClosed(parts, session, (stored, at) => suspendedIdle(stored, 'crash', at))
  else await closeSession(parts, session, 'suspended', 'crash', crashMessage(session))
}

/** The text that Claude was writing when its process died becomes output. */
async function storeUnfinishedText(
  { store, clock }: SessionParts,
  { id, owner, writing }: CodingSession,
): Promise<void> {
  if (writing === undefined) return
  const lastSeq = await store.addOutput(id, [{ at: clock.now(), kind: 'text', text: writing }])
  await store.update(id, (stored) => {
    if (isSameOwner(stored.owner, owner)) Object.assign(stored, { lastSeq, writing: undefined })
  })
}

async function requeue({ store }: SessionParts, { id, owner }: CodingSession): Promise<void> {
  await store.update(id, (stored) => {
    if (isSameOwner(stored.owner, owner)) Object.assign(stored, requeued(stored))
  })
}

/** An open question stays open: its answer resumes the session. */
function crashMessage(session: CodingSession): string {
  const { waiting, inbox, given } = session
  const asked =
    waiting && waiting.for !== 'input'
      ? ` It still waits for an answer, which resumes it: ${waiting.about}`
      : ''
  const pending = isTurnAhead(session)
    ? ` Its last message is delivered when ${session.machine} is back; resuming delivers it now.`
    : inbox.length > 0
      ? ' Its last message was not delivered; resuming delivers it.'
      : given.length > 1
        ? ' Messages sent while it worked are delivered again if they did not arrive.'
        : ''
  return `Rockpool stopped while it ran. It can be resumed.${asked}${pending}`
}

/** Ends a session that no process runs, and announces it. Does nothing if another process has taken the session meanwhile. */
export async function closeSession(
  parts: SessionParts,
  session: CodingSession,
  lifecycle: 'ended' | 'suspended',
  reason: EndReason,
  message: string,
): Promise<void> {
  const closed = await storeClosed(parts, session, (stored, at) => {
    const queued = (reason === 'crash' && isTurnAhead(stored)) || undefined
    return ended(stored, { status: 'killed', lifecycle, end: { reason, message, at, queued } })
  })
  if (closed) await parts.notifications.onSessionComplete(closed)
}

/** Undefined if another process has taken the session meanwhile. */
async function storeClosed(
  { store, clock, events }: SessionParts,
  { id, owner }: CodingSession,
  close: (stored: CodingSession, at: number) => Partial<CodingSession>,
): Promise<CodingSession | undefined> {
  const at = clock.now()
  let isOurs = false
  const closed = await store.update(id, (stored) => {
    isOurs = isSameOwner(stored.owner, owner)
    if (!isOurs) return
    const change = close(stored, at)
    // No answer was possible after the owner died, so the waiting time ends there.
    const waitedUntil = (owner && store.ownerSeenAt(nameOfOwner(owner))) ?? at
    Object.assign(stored, change, withWaitingTime(stored, change, waitedUntil))
  })
  if (!isOurs) return undefined
  events.emit({ type: 'coding-changed', id, why: closed.lifecycle })
  return closed
}

/** Takes back an end by a person. Nothing is sent to Claude: the session waits for its next message, as after a restart. */
export async function reopenSession(
  { store, clock, events }: SessionParts,
  session: CodingSession,
): Promise<void> {
  const { id } = session
  await store.update(id, (stored) => {
    const { lifecycle, end, sdkSessionId } = stored
    if (lifecycle !== 'ended' || end?.reason !== 'user') throw notReopened(stored)
    if (sdkSessionId === undefined) throw cannotResume(stored.id, stored)
    Object.assign(stored, reopened(stored, clock.now()))
  })
  events.emit({ type: 'coding-changed', id, why: 'suspended' })
}

/** Did an earlier process give Claude the first messages, without learning whether Claude received them? */
export function wasStartInterrupted({ sdkSessionId, given, turns }: CodingSession): boolean {
  return sdkSessionId === undefined && turns === 0 && given.length > 0
}

/** Continues the conversation of an interrupted start if Claude has received a message. Claude's id was stored before Claude
 *  started, so its transcript tells. Otherwise the messages wait again: none is sent in two conversations. */
export async function recoverInterruptedStart(
  { agents, clock }: SessionParts,
  record: LiveRecord,
  signal: AbortSignal,
): Promise<void> {
  const { session } = record
  const { resume } = session.request
  const sdkSessionId = resume && !resume.fork ? resume.sdkSessionId : session.newSdkSessionId
  if (!wasStartInterrupted(session) || sdkSessionId === undefined) return
  const runtime = await agents.runtime(kindOf(session))
  const found = await whenReleased(clock, runtime, sdkSessionId, signal)
  if (signal.aborted) return
  if (!found.ok && found.why === 'in-use') throw notResumable(found)
  const received = found.ok ? await runtime.received(sdkSessionId, session.given) : new Set<string>()
  await record.change(({ given, inbox }) => {
    const pending = [...given.filter(({ uuid }) => !received.has(uuid)).map(({ text }) => text), ...inbox]
    if (received.size > 0)
      return { given: [], inbox: pending.length === 0 ? [continuePrompt] : pending, sdkSessionId }
    // Claude refuses an id that has a file, even an empty one.
    const isFree = !found.ok && found.why === 'gone'
    return { given: [], inbox: pending, ...(isFree ? {} : { newSdkSessionId: randomUUID() }) }
  })
}

/** A Claude process that lost its Rockpool ends by itself within this time. */
const releaseWithinMs = 30_000
const lookMs = 500

async function whenReleased(
  clock: Clock,
  runtime: AgentRuntime,
  sdkSessionId: string,
  signal: AbortSignal,
): Promise<Resumable> {
  for (const until = clock.monotonic() + releaseWithinMs; ;) {
    const found = await runtime.resumable(sdkSessionId)
    const isInUse = !found.ok && found.why === 'in-use'
    if (!isInUse || signal.aborted || clock.monotonic() >= until) return found
    await sleep(clock, lookMs)
  }
}
