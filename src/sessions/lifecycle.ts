// Starts, resets, archives and deletes sessions. The transcript is always kept: a reset and
// a deletion set it aside under a name that says when and why. sessions/restore.ts brings it back.
import { randomUUID } from 'node:crypto'
import { RockpoolError } from '../domain/errors.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import { archiveTranscript, readArchiveNote, writeArchiveNote } from './archive-note.ts'
import { resetEntry } from './reset-entry.ts'
import type { ResetReason } from './reset-entry.ts'
import { changeEntry, refuseBusy, requireSession, tellChange } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

/** The session with this key; a new one if there is none. */
export async function openSession(
  parts: SessionParts,
  key: string,
  fields: Partial<SessionEntry> = {},
): Promise<Session & { isNew: boolean }> {
  let isNew = false
  const entry = await parts.sessions.update(key, (existing) => {
    isNew = existing === undefined
    return existing ? undefined : newEntry(parts.clock.now(), fields)
  })
  if (isNew) tellChange(parts, key, 'created')
  return { key, agentId: parts.sessions.agentId, entry: entry!, isNew }
}

export function newEntry(now: number, fields: Partial<SessionEntry> = {}): SessionEntry {
  const times = { updatedAt: now, sessionStartedAt: now, lastInteractionAt: now }
  return { sessionId: randomUUID(), ...times, systemSent: false, compactionCount: 0, ...fields }
}

export interface ResetResult {
  session: Session
  previous: SessionEntry
  /** The archive with the old transcript; nothing if the session had none. */
  archived?: string
}

/** A new conversation under the same key. The old one is archived, and no way back to Claude's old one is left. */
export async function resetSession(
  parts: SessionParts,
  key: string,
  options: { reason?: ResetReason; sessionId?: string } = {},
): Promise<ResetResult> {
  const { reason = 'reset', sessionId = randomUUID() } = options
  await refuseBusy(parts, key, 'reset')
  const old = await requireSession(parts, key)
  const hasTranscript = await noteUnlessForeign(parts, old, false)
  const entry = await changeEntry(parts, old, (current) =>
    resetEntry(current, { sessionId, now: parts.clock.now(), reason }),
  )
  // From here on the new conversation is the one; a crash leaves the old file unarchived, and cleanup finds it.
  const archived = hasTranscript ? await archiveTranscript(parts.transcripts, old, 'reset') : undefined
  tellChange(parts, key, `reset:${reason}`)
  return { session: { ...old, entry }, previous: old.entry, ...(archived === undefined ? {} : { archived }) }
}

/** Puts a session out of the lists. Nothing is lost, and a message to it brings it back. */
export async function archiveSession(parts: SessionParts, key: string): Promise<Session> {
  refuseMain(key, 'archived')
  await refuseBusy(parts, key, 'archived')
  const session = await requireSession(parts, key)
  const entry = await changeEntry(parts, session, ({ pinnedAt: _pin, ...current }) => ({
    ...current,
    archivedAt: parts.clock.now(),
  }))
  tellChange(parts, key, 'archived')
  return { ...session, entry }
}

export interface DeleteResult {
  key: string
  /** What still can be brought back. */
  archived?: string
  /** Ids under which the search index knows it. */
  sessionIds: string[]
}

/** The transcript is archived before the row goes. With `purge` nothing of it is left, archives included. */
export async function deleteSession(
  parts: SessionParts,
  key: string,
  options: { purge?: boolean } = {},
): Promise<DeleteResult> {
  refuseMain(key, 'deleted')
  await refuseBusy(parts, key, 'deleted')
  const session = await requireSession(parts, key)
  const { sessionId } = session.entry
  const hasTranscript = await noteUnlessForeign(parts, session, true)
  const archived = hasTranscript ? await archiveTranscript(parts.transcripts, session, 'deleted') : undefined
  await (options.purge ? parts.sessions.purge(key) : parts.sessions.delete(key))
  parts.events.emit({ type: 'session-deleted', agentId: parts.sessions.agentId, key })
  const purged = options.purge ? await purgeArchives(parts, key, sessionId) : []
  return {
    key,
    sessionIds: [...new Set([sessionId, ...purged])],
    ...(archived === undefined || options.purge ? {} : { archived }),
  }
}

/** All archives of a key go for good: those of its present session and of every one that was reset. */
async function purgeArchives(parts: SessionParts, key: string, sessionId: string): Promise<string[]> {
  const purged: string[] = []
  for (const archive of await parts.transcripts.archives()) {
    const isOurs = archive.sessionId === sessionId || (await keyOfArchive(parts, archive.name)) === key
    if (!isOurs) continue
    await parts.transcripts.discard(archive.name)
    purged.push(archive.sessionId)
  }
  return purged
}

async function keyOfArchive(parts: SessionParts, name: string): Promise<string | undefined> {
  return (await readArchiveNote(parts.transcripts, await parts.transcripts.archiveRef(name)))?.key
}

/** A row may name a file that is not ours to touch. Then the session goes its way, and the file stays where it is. */
async function noteUnlessForeign(parts: SessionParts, session: Session, always: boolean): Promise<boolean> {
  try {
    await writeArchiveNote(parts.transcripts, session, always)
    return true
  } catch (error) {
    if (error instanceof RockpoolError && (error.code === 'refused' || error.code === 'input-invalid'))
      return false
    throw error
  }
}

function refuseMain(key: string, what: string): void {
  if (classifySessionKey(key).kind !== 'main') return
  throw new RockpoolError('refused', `The main session cannot be ${what}.`, { hint: 'Reset it instead.' })
}
