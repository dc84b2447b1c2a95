// The dependencies of functions that change a session, and their common steps.
import { randomUUID } from 'node:crypto'
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
  /** Does a turn run or wait in this session? A busy session is not changed. */
  isBusy?: (key: string) => boolean | Promise<boolean>
}

export function newEntry(now: number, fields: Partial<SessionEntry> = {}): SessionEntry {
  const times = { updatedAt: now, sessionStartedAt: now, lastInteractionAt: now }
  return { sessionId: randomUUID(), ...times, systemSent: false, compactionCount: 0, ...fields }
}

export async function requireSession(parts: SessionParts, key: string): Promise<Session> {
  const entry = await parts.sessions.get(key)
  if (entry) return { key, agentId: parts.sessions.agentId, entry }
  throw new RockpoolError('not-found', `There is no session ${JSON.stringify(key)}.`, {
    hint: '`rockpool sessions` lists them.',
  })
}

export async function refuseBusy(parts: SessionParts, key: string, action: string): Promise<void> {
  if (!(await parts.isBusy?.(key))) return
  throw new RockpoolError('busy', `Session ${key} is still active, so it cannot be ${action}.`, {
    hint: 'Try again in a moment, or stop its turn first.',
  })
}

/** Changes an entry. Throws if the session was deleted or reset meanwhile. */
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
  throw new RockpoolError('conflict', `Session ${key} was reset or deleted meanwhile.`, {
    hint: 'Look again, and repeat the command if you still want to.',
  })
}

export function emitChange(parts: SessionParts, key: string, why: string): void {
  parts.events.emit({ type: 'session-changed', agentId: parts.sessions.agentId, key, why })
}
