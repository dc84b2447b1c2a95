// A session whose row is under an older spelling of its key (`…:dm:42`, bare `main`, `agent:<id>:<peer>`), as older
// programs wrote it. It is found under the current key, and is moved there by its next message.
import { olderSessionKeys } from '../domain/session-key-forms.ts'
import type { KeySpelling } from '../domain/session-key-forms.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { SessionStore } from '../store/session-store.ts'
import { tellChange } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

export async function findOlderSession(
  sessions: SessionStore,
  key: string,
  spelling: KeySpelling,
): Promise<Session | undefined> {
  for (const older of olderSessionKeys(key, spelling)) {
    const entry = await sessions.peek(older)
    if (entry) return { key: older, agentId: sessions.agentId, entry }
  }
  return undefined
}

/** Gives the row today's key. */
export async function moveSession(
  parts: SessionParts,
  older: string,
  key: string,
): Promise<SessionEntry | undefined> {
  const { sessions, events } = parts
  const entry = await sessions.move(older, key)
  if (!entry) return undefined
  events.emit({ type: 'session-deleted', agentId: sessions.agentId, key: older })
  tellChange(parts, key, 'key')
  return entry
}
