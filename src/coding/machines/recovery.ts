// What ran under an owner that is gone becomes suspended, and what never got to Claude begins again. Every command looks
// for such sessions first, whether a gateway runs or not.
import type { CodingOwner, CodingSession, EndReason } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import { nameOfOwner } from '../session/run-state.ts'
import { nothingToSay } from '../session/pending-messages.ts'
import { withWait } from '../session/waiting-time.ts'

type Parts = Pick<CodingParts, 'store' | 'clock' | 'events' | 'approvals' | 'notifications' | 'ownerLives'>

/** Resolves to the sessions whose owner is gone. */
export async function recoverOrphans(parts: Parts): Promise<CodingSession[]> {
  const running = parts.store.list({ running: true })
  const orphans = running.filter((session) => session.owner && !parts.ownerLives(session))
  for (const session of orphans) {
    await parts.approvals.expireOpen((approval) => approval.codingId === session.id)
    await keepWriting(parts, session)
    if (session.sdkSessionId) await closeSession(parts, session, 'suspended', 'crash', crashMessage(session))
    else await requeue(parts, session)
  }
  return orphans
}

/** What Claude was writing when its process died becomes output. */
async function keepWriting({ store, clock }: Parts, { id, owner, writing }: CodingSession): Promise<void> {
  if (writing === undefined) return
  const lastSeq = await store.addOutput(id, [{ at: clock.now(), kind: 'text', text: writing }])
  await store.update(id, (stored) => {
    if (isSameOwner(stored.owner, owner)) Object.assign(stored, { lastSeq, writing: undefined })
  })
}

/** Ends a session that no process runs, and tells of it. One that somebody else has taken up meanwhile is left to him. */
export async function closeSession(
  { store, clock, events, notifications }: Parts,
  { id, owner }: CodingSession,
  lifecycle: 'ended' | 'suspended',
  reason: EndReason,
  message: string,
): Promise<void> {
  const end = { reason, message, at: clock.now() }
  let isOurs = false
  const closed = await store.update(id, (stored) => {
    isOurs = isSameOwner(stored.owner, owner)
    if (!isOurs) return
    const status = reason === 'done' ? stored.status : 'killed'
    // Nobody could answer any more when its owner was gone.
    const waitedUntil = (owner && store.ownerSeenAt(nameOfOwner(owner))) ?? end.at
    const change = { status, lifecycle, end, waiting: undefined, doing: undefined, owner: undefined }
    Object.assign(
      stored,
      change,
      withWait(stored, change, waitedUntil),
      reason === 'user' ? nothingToSay() : {},
    )
  })
  if (!isOurs) return
  events.emit({ type: 'coding-changed', id, why: lifecycle })
  if (reason !== 'done') await notifications.onSessionComplete(closed)
}

/** A session whose start was cut off, as it stands before its first turn. What Claude was given stays marked as given: the next
 *  start looks whether Claude has received it. */
export function begunAgain({ given, inbox, request }: CodingSession): Partial<CodingSession> {
  return {
    status: 'starting',
    lifecycle: 'queued',
    owner: undefined,
    startedAt: undefined,
    waiting: undefined,
    inbox: given.length + inbox.length > 0 ? inbox : [request.prompt],
  }
}

/** Nothing is lost of it: it begins again. */
async function requeue({ store }: Parts, { id, owner }: CodingSession): Promise<void> {
  await store.update(id, (stored) => {
    if (isSameOwner(stored.owner, owner)) Object.assign(stored, begunAgain(stored))
  })
}

function isSameOwner(one: CodingOwner | undefined, other: CodingOwner | undefined): boolean {
  return one === undefined || other === undefined ? one === other : nameOfOwner(one) === nameOfOwner(other)
}

/** What it asked is expired by now; resuming asks again, so the person should know what it was. */
function crashMessage({ waiting, inbox, given }: CodingSession): string {
  const asked =
    waiting && waiting.for !== 'input' ? ` It had asked, and will ask again: ${waiting.about}` : ''
  const unsaid =
    inbox.length > 0
      ? ' What it was told last did not reach it; resuming says it.'
      : given.length > 1
        ? ' What it was told while it worked is said again if it has not reached it.'
        : ''
  return `Rockpool stopped while it ran. It can be resumed.${asked}${unsaid}`
}
