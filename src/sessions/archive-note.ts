// An archived transcript says whose it was: its last entry holds the session's key and row. So an archive can be
// brought back whole, whatever became of the store. To every other reader the note is a custom entry without meaning.
import { bulkyFields } from '../domain/session.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry } from '../domain/transcript.ts'
import type { TranscriptRef, TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'

const customType = 'rockpool.session'
/** A turn that was still ending may have written behind the note. */
const searchedEntries = 200

export interface ArchiveNote {
  key: string
  entry: SessionEntry
}

/** Sets the session's transcript aside. Resolves to the archive's name; to nothing if there was no transcript. */
export async function archiveTranscript(
  transcripts: TranscriptStore,
  session: Session,
  reason: 'reset' | 'deleted',
): Promise<string | undefined> {
  return transcripts.archive(transcriptOf(session), reason)
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
  ref: TranscriptRef,
): Promise<ArchiveNote | undefined> {
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
