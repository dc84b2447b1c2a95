// Bringing back what was put away: an archived session, a deleted one, a conversation from before a reset.
import { RockpoolError } from '../domain/errors.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { TranscriptArchive, TranscriptRef } from '../store/session-store.ts'
import { archiveTranscript, readArchiveNote, writeArchiveNote } from './archive-note.ts'
import type { ArchiveNote } from './archive-note.ts'
import { newEntry } from './lifecycle.ts'
import { changeEntry, refuseBusy, tellChange } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

export interface RestoreResult {
  session: Session
  /** The conversation that had the key meanwhile, archived in turn. */
  archived?: string
}

/** `ref` is a key, a session id (or its beginning), a label, or the name of an archive. `key` helps an archive without a name. */
export async function restoreSession(
  parts: SessionParts,
  ref: string,
  options: { key?: string } = {},
): Promise<RestoreResult> {
  const row = await findArchivedRow(parts, ref)
  if (row) return { session: await bringBackRow(parts, row) }
  const { archive, note } = await findArchive(parts, ref)
  const key = options.key ?? note?.key ?? (ref.startsWith('agent:') ? ref : undefined)
  if (key === undefined) {
    throw new RockpoolError(
      'input-invalid',
      `The archive ${archive.name} does not say which session it was.`,
      {
        hint: 'Another program made it. Say under which key it shall come back: --key agent:main:…',
      },
    )
  }
  return bringBackArchive(parts, key, archive, note)
}

async function findArchivedRow(parts: SessionParts, ref: string): Promise<Session | undefined> {
  const rows = (await parts.sessions.find(ref)).filter(({ entry }) => entry.archivedAt !== undefined)
  const keys = rows.map(({ key }) => key)
  if (keys.length > 1) throw ambiguous(ref, keys)
  return rows[0]
}

async function bringBackRow(parts: SessionParts, session: Session): Promise<Session> {
  const current = await changeEntry(parts, session, ({ archivedAt: _at, ...rest }) => ({
    ...rest,
    updatedAt: parts.clock.now(),
  }))
  tellChange(parts, session.key, 'restored')
  return { ...session, entry: current }
}

async function bringBackArchive(
  parts: SessionParts,
  key: string,
  archive: TranscriptArchive,
  note: ArchiveNote | undefined,
): Promise<RestoreResult> {
  await refuseBusy(parts, key, 'replaced')
  const current = await parts.sessions.get(key)
  const session = { key, agentId: parts.sessions.agentId }
  if (current) await writeArchiveNote(parts.transcripts, { ...session, entry: current }, false)
  const label = current ? current.label : await freeLabel(parts, note?.entry.label)
  const ref = await parts.transcripts.unarchive(archive.name)
  const entry = await parts.sessions.update(key, () => restoredEntry(parts, ref, note, label))
  const archived =
    current && (await archiveTranscript(parts.transcripts, { ...session, entry: current }, 'reset'))
  tellChange(parts, key, 'restored')
  return { session: { ...session, entry: entry! }, ...(archived === undefined ? {} : { archived }) }
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
    // A reset for age would otherwise take it away again with the next message.
    lastInteractionAt: now,
    sessionStartedAt: now,
    ...(label === undefined ? {} : { label }),
  }
}

/** The label that a deleted session had, unless another one has it now. */
async function freeLabel(parts: SessionParts, label: string | undefined): Promise<string | undefined> {
  if (label === undefined) return undefined
  return (await parts.sessions.list({ label, limit: 1 })).total === 0 ? label : undefined
}

async function findArchive(
  parts: SessionParts,
  ref: string,
): Promise<{ archive: TranscriptArchive; note: ArchiveNote | undefined }> {
  const archives = (await parts.transcripts.archives()).filter(({ reason }) => reason !== 'bak')
  const byId = archives.filter(
    ({ name, sessionId }) => name === ref || (ref !== '' && sessionId.startsWith(ref)),
  )
  const noteFor = async ({ name }: TranscriptArchive): Promise<ArchiveNote | undefined> =>
    readArchiveNote(parts.transcripts, await parts.transcripts.archiveRef(name))
  if (byId.length > 0) {
    const ids = new Set(byId.map(({ sessionId }) => sessionId))
    const names = byId.map(({ name }) => name)
    if (ids.size > 1) throw ambiguous(ref, names)
    return { archive: byId[0]!, note: await noteFor(byId[0]!) }
  }
  // Newest first: the last conversation that had this key or label.
  for (const archive of archives) {
    const note = await noteFor(archive)
    if (note && (note.key === ref || note.entry.label === ref)) return { archive, note }
  }
  throw noArchive(ref)
}

function noArchive(ref: string): RockpoolError {
  return new RockpoolError('not-found', `Nothing archived has the key, id or name ${JSON.stringify(ref)}.`, {
    hint: '`rockpool sessions list --archived` and `rockpool sessions archives` show what can be restored.',
  })
}

function ambiguous(ref: string, names: string[]): RockpoolError {
  return new RockpoolError(
    'ambiguous',
    `${JSON.stringify(ref)} may mean several that were put away: ${names.slice(0, 10).join('; ')}.`,
    { hint: 'Give the name of one.' },
  )
}
