// How long sessions waited for people: for the next message, a yes, an answer, a plan or a budget. Questions that are open
// at the same time count once, and so does a wait that nobody ended.
import type { CodingSession } from '../../domain/coding-session.ts'

type Waited = Pick<CodingSession, 'waitedMs' | 'waitsSince'>

/** With the wait that goes on. */
export function waitedOf({ waitedMs, waitsSince }: Waited, now: number): number {
  return waitsSince === undefined ? waitedMs : waitedMs + Math.max(0, now - waitsSince)
}

/** What a change of what a session waits for means for the time that it waited. */
export function withWait(
  session: CodingSession,
  change: Partial<CodingSession>,
  now: number,
): Partial<Waited> {
  if (!('waiting' in change)) return {}
  if (change.waiting) return { waitsSince: session.waitsSince ?? change.waiting.since }
  return { waitedMs: waitedOf(session, now), waitsSince: undefined }
}
