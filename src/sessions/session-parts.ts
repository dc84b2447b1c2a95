// What the life of a session is made of, passed to every function that changes one.
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'

export interface SessionParts {
  sessions: SessionStore
  transcripts: TranscriptStore
  clock: Clock
  events: Pick<Events, 'emit'>
  /** Does a turn run in this session, or wait for one? Such a session is left alone. */
  isBusy?: (key: string) => boolean | Promise<boolean>
}

export async function requireSession(parts: SessionParts, key: string): Promise<Session> {
  const entry = await parts.sessions.get(key)
  if (entry) return { key, agentId: parts.sessions.agentId, entry }
  throw new RockpoolError('not-found', `There is no session ${JSON.stringify(key)}.`, {
    hint: '`rockpool sessions` lists them.',
  })
}

export async function refuseBusy(parts: SessionParts, key: string, what: string): Promise<void> {
  if (!(await parts.isBusy?.(key))) return
  throw new RockpoolError('busy', `Session ${key} is still active, so it cannot be ${what}.`, {
    hint: 'Try again in a moment, or stop its turn first.',
  })
}

/** Changes a row that is there; throws if it has gone or has become another session meanwhile. */
export async function changeEntry(
  parts: SessionParts,
  { key, entry: { sessionId } }: Session,
  change: (entry: SessionEntry) => SessionEntry,
): Promise<SessionEntry> {
  let isOther = false
  const stored = await parts.sessions.update(key, (entry) => {
    isOther = entry?.sessionId !== sessionId
    return entry && !isOther ? change(entry) : undefined
  })
  if (stored && !isOther) return stored
  throw new RockpoolError('conflict', `Session ${key} was reset or deleted by somebody else meanwhile.`, {
    hint: 'Look again, and repeat it if you still want to.',
  })
}

export function tellChange(parts: SessionParts, key: string, why: string): void {
  parts.events.emit({ type: 'session-changed', agentId: parts.sessions.agentId, key, why })
}
