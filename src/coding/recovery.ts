// After a start: what ran under an owner that is gone becomes suspended, and what never got to Claude begins again.
import type { CodingSession, EndReason } from '../domain/coding.ts'
import type { CodingParts } from './parts.ts'
import { ownerLives } from './run-state.ts'

type Parts = Pick<CodingParts, 'store' | 'clock' | 'events' | 'approvals' | 'notifications'>

/** Resolves to the sessions whose owner is gone. */
export async function recoverOrphans(parts: Parts): Promise<CodingSession[]> {
  const orphans = parts.store.list({ open: true }).filter((session) => session.owner && !ownerLives(session))
  for (const session of orphans) {
    await parts.approvals.expireOpen((approval) => approval.codingId === session.id)
    if (session.sdkSessionId) await closeSession(parts, session, 'suspended', 'crash', crashMessage(session))
    else await requeue(parts, session)
  }
  return orphans
}

/** Ends a session that no process runs, and tells of it. */
export async function closeSession(
  { store, clock, events, notifications }: Parts,
  { id }: CodingSession,
  lifecycle: 'ended' | 'suspended',
  reason: EndReason,
  message: string,
): Promise<void> {
  const end = { reason, message, at: clock.now() }
  const closed = await store.update(id, (stored) => {
    const status = reason === 'done' ? stored.status : 'killed'
    Object.assign(stored, { status, lifecycle, end, waiting: undefined, owner: undefined })
  })
  events.emit({ type: 'coding-changed', id, why: lifecycle })
  if (reason !== 'done') await notifications.onSessionComplete(closed)
}

/** It never got to Claude, so nothing is lost: it begins again. */
async function requeue({ store }: Parts, { id }: CodingSession): Promise<void> {
  await store.update(id, (stored) => {
    const waiting = { status: 'starting', lifecycle: 'queued', owner: undefined, startedAt: undefined }
    Object.assign(stored, waiting)
  })
}

/** What it asked is expired by now; resuming asks again, so the person should know what it was. */
function crashMessage({ waiting }: CodingSession): string {
  const open = waiting && waiting.for !== 'input' ? ` It had asked, and will ask again: ${waiting.about}` : ''
  return `Rockpool stopped while it ran. It can be resumed.${open}`
}
