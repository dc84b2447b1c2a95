// What a session was told and Claude does not know: nothing of it is lost, except to a person who ends the session.
import type { CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'

/** What waits; and of one that has no process, what it was given and may not have written down. */
export function unsaidOf({ inbox, given, owner }: CodingSession): string[] {
  return owner ? inbox : [...textsOf(given), ...inbox]
}

/** What must be said when an earlier session is resumed: what Claude was given and has not written down, then what waits. */
export async function unsaidIn(
  { runtime }: Pick<CodingParts, 'runtime'>,
  { sdkSessionId, given, inbox }: CodingSession,
): Promise<string[]> {
  if (given.length === 0 || sdkSessionId === undefined) return inbox
  // Opening it ends what was left of Claude, so that nothing more is written.
  const received = await (await runtime()).received(sdkSessionId, given)
  return [...textsOf(given.filter(({ uuid }) => !received.has(uuid))), ...inbox]
}

/** Whoever ends a session does not want the rest to be said when it is resumed one day. */
export function nothingToSay(): Pick<CodingSession, 'inbox' | 'given'> {
  return { inbox: [], given: [] }
}

function textsOf(given: CodingSession['given']): string[] {
  return given.map(({ text }) => text)
}
