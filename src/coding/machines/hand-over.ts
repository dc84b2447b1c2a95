// A coding session that changes its machine: what its row becomes, so that the other one goes on with it.
import type { CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import { begunAgain } from './recovery.ts'
import { isRunning } from '../session/run-state.ts'

export interface HandOver {
  machine: string
  /** Its repository there. */
  workdir: string
  /** What Claude is told before the next message. */
  aside: string
}

export const goOn = 'Continue where you left off.'

/** What was said to it and Claude does not know; and was a turn stopped, that is to go on there? */
interface Left {
  unsaid: string[]
  wasCut: boolean
}

export function givenTo(session: CodingSession, to: HandOver, left?: Left): Partial<CodingSession> {
  const { request, sdkSessionId, turns, inbox } = session
  const { machine, workdir, aside } = to
  const place = { machine, aside, request: { ...request, workdir }, owner: undefined, doing: undefined }
  // Whoever resumes it does so there.
  if (!isRunning(session)) return place
  if (sdkSessionId === undefined && turns === 0) return { ...place, ...begunAgain(session), aside: undefined }
  const said = left ? toSay(left, inbox) : inbox
  if (said.length === 0) return { ...place, status: 'running', lifecycle: 'awaiting-input', given: [] }
  return { ...place, status: 'starting', lifecycle: 'queued', waiting: undefined, given: [], inbox: said }
}

/** A turn that Claude has begun goes on; one whose message did not arrive begins with that. */
function toSay({ unsaid, wasCut }: Left, inbox: string[]): string[] {
  return wasCut && unsaid.length === inbox.length ? [goOn, ...unsaid] : unsaid
}

/** One that no process runs. */
export async function giveAway(
  { store, events }: Pick<CodingParts, 'store' | 'events'>,
  id: string,
  to: HandOver,
): Promise<void> {
  const given = await store.update(id, (session) => Object.assign(session, givenTo(session, to)))
  events.emit({ type: 'coding-changed', id, why: given.lifecycle })
}
