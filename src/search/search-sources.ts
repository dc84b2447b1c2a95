// Lists the files that can be searched: our transcripts, Claude's transcripts and the notes of every agent, each with its
// owner.
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Discovery, SessionTranscript } from '../domain/discovered-session.ts'
import type { Log } from '../domain/log.ts'
import type { SearchSource } from '../domain/search.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { NotePlaces } from '../store/notes/note-files.ts'
import { listFolder, listMemory, listNotes } from '../store/notes/notes.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'
import { transcriptFile, transcriptOf } from '../store/transcripts/transcript-paths.ts'

export interface SourceParts {
  agentIds(): string[]
  sessions(agentId: string): SessionStore
  transcripts(agentId: string): TranscriptStore
  discovery(): Discovery
  log: Log
  /** Where the transcripts of an agent are. */
  sessionsFolder(agentId: string): string
  notePlaces(agentId: string): NotePlaces
  /** Folders with notes for all agents. */
  sharedNoteFolders: string[]
  /** Fetches the notes that other machines have changed. */
  refreshNotes(): Promise<void>
  /** The messages of sessions that only the vault has, and of sessions of other agents, as files. */
  copiedTranscripts(): Promise<SessionTranscript[]>
  /** The messages of those sessions that belong to other agents, as files. */
  copiesOfOthers(sessionIds: string[]): Promise<SessionTranscript[]>
  /** With a shared database: its transcripts as files of this machine. */
  copies?: TranscriptCopies
}

interface TranscriptCopies {
  /** Reads what is new in the shared database. */
  catchUp(): Promise<void>
  all(): TranscriptCopy[]
  /** The changes since the previous call. */
  takeChanges(): Record<'changed' | 'dropped' | 'gone', TranscriptCopy[]>
  clear(): Promise<void>
  close(): Promise<void>
}

interface TranscriptCopy {
  agentId: string
  sessionId: string
  topicId?: string
  isArchived: boolean
  path: string
}

interface SessionRow {
  key: string
  entry: SessionEntry
}

/** All sources, the oldest first: what is indexed last is found first. */
export async function searchSources(
  parts: SourceParts,
  transcripts = parts.discovery().transcripts(),
): Promise<SearchSource[]> {
  const [native, ours] = await Promise.all([transcripts, ourSources(parts)])
  // After the transcripts: reading them has brought discovery up to date.
  const copied = await parts.copiedTranscripts()
  return [...copied, ...native].map(nativeSource).concat(ours)
}

/** Our transcripts and the notes. */
export async function ourSources(parts: SourceParts): Promise<SearchSource[]> {
  const perAgent = parts.copies
    ? [await copySources(parts, parts.copies)]
    : await Promise.all(parts.agentIds().map((agentId) => agentSources(parts, agentId)))
  return [...perAgent.flat(), ...noteSources(parts)]
}

export function nativeSource(transcript: SessionTranscript): SearchSource {
  const {
    sessionId,
    agentId,
    agentKind = 'claude',
    chat,
    repoPath,
    branch,
    path,
    inode,
    size,
    mtimeMs,
  } = transcript
  return {
    kind: 'native',
    path,
    sessionId,
    agentKind,
    chat,
    repoPath: repoPath || undefined,
    branch: branch || undefined,
    agentIds: agentId === undefined ? undefined : [agentId],
    seen: { inode, size, mtimeMs },
  }
}

async function agentSources(parts: SourceParts, agentId: string): Promise<SearchSource[]> {
  const files = await parts.transcripts(agentId).list()
  const byFile = new Map<string, SessionRow>()
  // Rows only describe transcripts; without a transcript they are not needed.
  const rows = files.length === 0 ? [] : (await parts.sessions(agentId).list()).sessions
  for (const session of rows) {
    const path = fileOf(parts, agentId, transcriptOf(session))
    if (path !== undefined) byFile.set(path, session)
  }
  const current = files
    .sort((a, b) => a.changedAt - b.changedAt)
    .flatMap((ref) => {
      const path = fileOf(parts, agentId, ref)
      return path === undefined ? [] : [ourSource(agentId, path, ref.sessionId, byFile.get(path))]
    })
  return [...(await archivedByReset(parts, agentId)), ...current]
}

async function copySources(parts: SourceParts, copies: TranscriptCopies): Promise<SearchSource[]> {
  await copies.catchUp()
  const all = copies.all()
  const sessions = new Map<string, SessionRow>()
  for (const agentId of new Set(all.map((copy) => copy.agentId))) {
    const rows = (await parts.sessions(agentId).list()).sessions
    for (const session of rows) sessions.set(transcriptKey(agentId, transcriptOf(session)), session)
  }
  return all.map((copy) => copySource(copy, sessions.get(transcriptKey(copy.agentId, copy))))
}

/** The search sources for these local copies of transcripts from the shared database. */
export function sourcesOfCopies(parts: SourceParts, copies: TranscriptCopy[]): Promise<SearchSource[]> {
  return Promise.all(
    copies.map(async (copy) => {
      const found = copy.isArchived ? [] : await parts.sessions(copy.agentId).find(copy.sessionId)
      const key = transcriptKey(copy.agentId, copy)
      const row = found.find((session) => transcriptKey(copy.agentId, transcriptOf(session)) === key)
      return copySource(copy, row)
    }),
  )
}

function copySource({ agentId, path, sessionId, isArchived }: TranscriptCopy, session?: SessionRow) {
  return ourSource(agentId, path, sessionId, isArchived ? undefined : session)
}

function transcriptKey(agentId: string, ref: { sessionId: string; topicId?: string | number }): string {
  return JSON.stringify([agentId, ref.sessionId, ref.topicId === undefined ? null : String(ref.topicId)])
}

/** Transcripts that a reset archived stay searchable. */
async function archivedByReset(parts: SourceParts, agentId: string, since = 0): Promise<SearchSource[]> {
  const folder = parts.sessionsFolder(agentId)
  const archives = await parts.transcripts(agentId).archives()
  return archives
    .filter(({ reason, at }) => reason === 'reset' && at >= since)
    .map(({ name, sessionId }) => ourSource(agentId, join(folder, name), sessionId))
}

/** The transcript of a session after a reset or a restore: archived since `since`, or back in its place. */
export async function movedSources(
  parts: SourceParts,
  { agentId, key }: { agentId: string; key: string },
  since: number,
): Promise<SearchSource[]> {
  const archived = await archivedByReset(parts, agentId, since)
  const entry = await parts.sessions(agentId).peek(key)
  const path = entry && fileOf(parts, agentId, transcriptOf({ key, entry }))
  return path === undefined
    ? archived
    : [...archived, ourSource(agentId, path, entry!.sessionId, { key, entry: entry! })]
}

export function ourSource(
  agentId: string,
  path: string,
  sessionId: string,
  session?: SessionRow,
): SearchSource {
  const { deliveryContext, channel, lastChannel } = session?.entry ?? {}
  return {
    kind: 'rockpool',
    path,
    sessionId,
    agentIds: [agentId],
    sessionKey: session?.key,
    channel: deliveryContext?.channel ?? lastChannel ?? channel,
  }
}

function fileOf(parts: SourceParts, agentId: string, ref: Parameters<typeof transcriptFile>[2]) {
  try {
    return transcriptFile(parts.sessionsFolder(agentId), agentId, ref)
  } catch (error) {
    parts.log.warn(
      { event: 'transcript-not-indexed', agentId, error: String(error) },
      'The transcript of a session has no valid file name; search does not find it.',
    )
    return undefined
  }
}

export function noteSources(parts: SourceParts): SearchSource[] {
  const agentsOf = new Map<string, string[]>()
  for (const agentId of parts.agentIds()) {
    const { workspace, agentFolder } = parts.notePlaces(agentId)
    const notes = [...listMemory(agentFolder), ...listNotes(workspace)]
    for (const path of new Set(notes.map((note) => note.path)))
      agentsOf.set(path, [...(agentsOf.get(path) ?? []), agentId])
  }
  const shared = parts.sharedNoteFolders.flatMap((folder) => listFolder(folder))
  for (const { path } of shared) agentsOf.set(path, ['*'])
  return [...agentsOf].map(([path, agentIds]) => ({
    kind: 'memory',
    path,
    sessionId: noteName(path),
    agentIds,
  }))
}

function noteName(path: string): string {
  const parts = path.split('/')
  return parts.at(-2) === 'memory' ? `memory/${parts.at(-1)}` : parts.at(-1)!
}

/** The folders to watch for new and removed notes: those that hold notes, and the folders below them. */
export function noteFolders(parts: SourceParts): string[] {
  const perAgent = parts.agentIds().flatMap((agentId) => {
    const { workspace, agentFolder } = parts.notePlaces(agentId)
    const folders = [join(agentFolder, 'memory'), join(workspace, 'memory')]
    // A new agent gets its folder beside those of the others.
    return [
      ...folders.flatMap((folder) => [folder, ...foldersBelow(folder)]),
      workspace,
      dirname(agentFolder),
    ]
  })
  const shared = parts.sharedNoteFolders.flatMap((folder) => [folder, ...foldersBelow(folder)])
  return [...new Set([...perAgent, ...shared])]
}

/** As deep as notes are listed; links are not followed. */
function foldersBelow(folder: string, depth = 3): string[] {
  if (depth === 0) return []
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(folder, name))
      .flatMap((path) => [path, ...foldersBelow(path, depth - 1)])
  } catch {
    // An agent without notes has no such folder.
    return []
  }
}
