// Archived transcripts and how they are restored. The last entry of an archive is a note with the session's key and row,
// so that an archive can be restored even without the store. To other programs the note is a custom entry.
import { RockpoolError } from '../domain/errors.ts'
import { bulkyFields, type Session, type SessionEntry } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry } from '../domain/transcript.ts'
import type { TranscriptArchive, TranscriptRef, TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { changeEntry, emitChange, newEntry, refuseBusy, type SessionParts } from './session-parts.ts'

const customType = 'rockpool.session'
/** How many of the last entries are searched for the note: a turn that was still ending may have written after it. */
const searchedEntries = 200

interface ArchiveNote {
  key: string
  entry: SessionEntry
}

/** Writes the note. With `always` also if there is no transcript yet, so that the session can be restored. */
export async function writeArchiveNote(
  transcripts: TranscriptStore,
  session: Session,
  always: boolean,
): Promise<void> {
  const ref = transcriptOf(session)
  if (!always && !(await transcripts.exists(ref))) return
  await transcripts.append(ref, [archiveNote(session)], { cwd: '' })
}

export function archiveNote({ key, entry }: Session): EntryBody {
  const lean = Object.entries(entry).filter(([field]) => !bulkyFields.some((bulky) => bulky === field))
  return { type: 'custom', customType, data: { key, entry: Object.fromEntries(lean) } }
}

export async function readArchiveNote(
  transcripts: TranscriptStore,
  archive: string,
): Promise<ArchiveNote | undefined> {
  const ref = await transcripts.archiveRef(archive)
  const { entries } = await transcripts.tail(ref, searchedEntries)
  return entries.map(archiveNoteIn).findLast((note) => note?.entry.sessionId === ref.sessionId)
}

export function isArchiveNote(entry: TranscriptEntry): boolean {
  return entry.type === 'custom' && entry.customType === customType
}

export function archiveNoteIn(entry: TranscriptEntry): ArchiveNote | undefined {
  if (entry.type !== 'custom' || entry.customType !== customType) return undefined
  const { key, entry: row } = (entry.data ?? {}) as { key?: unknown; entry?: Partial<SessionEntry> }
  const isWhole =
    typeof key === 'string' && typeof row?.sessionId === 'string' && typeof row.updatedAt === 'number'
  return isWhole ? { key, entry: row as SessionEntry } : undefined
}

interface RestoreResult {
  session: Session
  /** The archive of the conversation that had the key until now. */
  archived?: string
}

/** Restores an archived session, a deleted one, or a conversation from before a reset. `ref` is a key, a session id (or
 *  its beginning), a label, or the name of an archive. `key` is for archives without a note. */
export async function restoreSession(
  parts: SessionParts,
  ref: string,
  options: { key?: string } = {},
): Promise<RestoreResult> {
  const row = await findArchivedRow(parts, ref)
  if (row) return { session: await restoreRow(parts, row) }
  const { archive, note } = await findArchive(parts, ref)
  const key = options.key ?? note?.key ?? (ref.startsWith('agent:') ? ref : undefined)
  if (key !== undefined) return restoreArchive(parts, key, archive, note)
  throw new RockpoolError('input-invalid', `The archive ${archive.name} has no session key.`, {
    hint: 'Another program made it. Give the key under which to restore it: --key agent:main:…',
  })
}

async function findArchivedRow(parts: SessionParts, ref: string): Promise<Session | undefined> {
  const rows = (await parts.sessions.find(ref)).filter(({ entry }) => entry.archivedAt !== undefined)
  const keys = rows.map(({ key }) => key)
  if (keys.length > 1) throw ambiguous(ref, keys)
  return rows[0]
}

async function restoreRow(parts: SessionParts, session: Session): Promise<Session> {
  const entry = await changeEntry(parts, session, ({ archivedAt: _at, ...rest }) => ({
    ...rest,
    updatedAt: parts.clock.now(),
  }))
  emitChange(parts, session.key, 'restored')
  return { ...session, entry }
}

async function restoreArchive(
  parts: SessionParts,
  key: string,
  archive: TranscriptArchive,
  note: ArchiveNote | undefined,
): Promise<RestoreResult> {
  const { transcripts, sessions } = parts
  await refuseBusy(parts, key, 'replaced')
  const entry = await sessions.get(key)
  const current = entry && { key, agentId: sessions.agentId, entry }
  if (current) await writeArchiveNote(transcripts, current, false)
  const label = current ? current.entry.label : await freeLabel(parts, note?.entry.label)
  const ref = await transcripts.unarchive(archive.name)
  const restored = await sessions.update(key, () => restoredEntry(parts, ref, note, label))
  const archived = current && (await transcripts.archive(transcriptOf(current), 'reset'))
  emitChange(parts, key, 'restored')
  return { session: { key, agentId: sessions.agentId, entry: restored! }, archived }
}

function restoredEntry(
  parts: SessionParts,
  ref: TranscriptRef,
  note: ArchiveNote | undefined,
  label: string | undefined,
): SessionEntry {
  const now = parts.clock.now()
  const { archivedAt: _at, label: _label, ...row } = note?.entry ?? newEntry(now)
  return {
    ...row,
    sessionId: ref.sessionId,
    sessionFile: ref.file,
    updatedAt: now,
    // With its old times the session would be stale, and the next message would reset it.
    lastInteractionAt: now,
    sessionStartedAt: now,
    label,
  }
}

/** The label that a deleted session had, unless another session has it now. */
async function freeLabel(parts: SessionParts, label: string | undefined): Promise<string | undefined> {
  if (label === undefined) return undefined
  return (await parts.sessions.list({ label, limit: 1 })).total === 0 ? label : undefined
}

async function findArchive({ transcripts }: SessionParts, ref: string) {
  const archives = (await transcripts.archives()).filter(({ reason }) => reason !== 'bak')
  const [first, ...others] = archives.filter(
    ({ name, sessionId }) => name === ref || (ref !== '' && sessionId.startsWith(ref)),
  )
  if (first) {
    const isOneSession = others.every(({ sessionId }) => sessionId === first.sessionId)
    if (isOneSession) return { archive: first, note: await readArchiveNote(transcripts, first.name) }
    const names = [first, ...others].map(({ name }) => name)
    throw ambiguous(ref, names)
  }
  // The newest archive is the first: find the last conversation that had this key or label.
  for (const archive of archives) {
    const note = await readArchiveNote(transcripts, archive.name)
    if (note && (note.key === ref || note.entry.label === ref)) return { archive, note }
  }
  throw new RockpoolError('not-found', `Nothing archived has the key, id or name ${JSON.stringify(ref)}.`, {
    hint: '`rockpool sessions list --archived` and `rockpool sessions archives` show what can be restored.',
  })
}

function ambiguous(ref: string, names: string[]): RockpoolError {
  const some = names.slice(0, 10).join('; ')
  return new RockpoolError('ambiguous', `${JSON.stringify(ref)} fits several archived sessions: ${some}.`, {
    hint: 'Give the name of one.',
  })
}
