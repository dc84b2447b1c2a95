// Which files can be searched: our transcripts, Claude's own, and the notes of every agent; with whose they are.
import { readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { SessionTranscript } from '../domain/discovered-session.ts'
import type { SearchSource } from '../domain/search.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { App } from '../operations/app.ts'
import type { TranscriptCopies } from '../store/postgres/transcript-copies.ts'
import type { TranscriptCopy } from '../store/postgres/transcript-copy-file.ts'
import { transcriptFile, transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { agentFrom } from './configured-agents.ts'

export type SourceParts = Pick<
  App,
  'config' | 'paths' | 'environment' | 'agentIds' | 'sessions' | 'transcripts' | 'discovery' | 'log'
> & {
  /** The transcripts of a shared database as files of this machine. */
  copies?: TranscriptCopies
}

/** The oldest first, so that what is indexed last, and found first, is the newest. */
export async function searchSources(
  app: SourceParts,
  transcripts = app.discovery().transcripts(),
): Promise<SearchSource[]> {
  const [native, ours] = await Promise.all([transcripts, sourcesOfOurs(app)])
  return [...native.map(nativeSource), ...ours]
}

/** Our transcripts and the notes. */
export async function sourcesOfOurs(app: SourceParts): Promise<SearchSource[]> {
  return [...(await ourSources(app)), ...noteSources(app)]
}

export function nativeSource(transcript: SessionTranscript): SearchSource {
  const { sessionId, agentId, chat, repoPath, branch, path, inode, size, mtimeMs } = transcript
  return {
    kind: 'native',
    path,
    sessionId,
    chat,
    repoPath: repoPath || undefined,
    branch: branch || undefined,
    agentIds: agentId === undefined ? undefined : [agentId],
    seen: { inode, size, mtimeMs },
  }
}

async function ourSources(app: SourceParts): Promise<SearchSource[]> {
  if (app.copies) return sourcesOfCopies(app, app.copies)
  const perAgent = await Promise.all(app.agentIds().map((agentId) => sourcesOfAgent(app, agentId)))
  return perAgent.flat()
}

async function sourcesOfAgent(app: SourceParts, agentId: string): Promise<SearchSource[]> {
  const transcripts = app.transcripts(agentId)
  const files = await transcripts.list()
  const dir = app.paths.sessions(agentId)
  const byFile = new Map<string, { key: string; entry: SessionEntry }>()
  // Without a transcript there is nothing that a row could tell about.
  const rows = files.length === 0 ? [] : (await app.sessions(agentId).list()).sessions
  for (const session of rows) {
    const path = fileOf(app, dir, agentId, transcriptOf(session))
    if (path !== undefined) byFile.set(path, session)
  }
  const current = files
    .sort((a, b) => a.changedAt - b.changedAt)
    .flatMap((ref) => {
      const path = fileOf(app, dir, agentId, ref)
      return path === undefined ? [] : [ourSource(agentId, path, ref.sessionId, byFile.get(path))]
    })
  return [...(await resetSources(app, agentId)), ...current]
}

async function sourcesOfCopies(app: SourceParts, copies: TranscriptCopies): Promise<SearchSource[]> {
  await copies.catchUp()
  const all = copies.all()
  const sessions = new Map<string, { key: string; entry: SessionEntry }>()
  for (const agentId of new Set(all.map((copy) => copy.agentId))) {
    const rows = (await app.sessions(agentId).list()).sessions
    for (const session of rows) sessions.set(placeOf(agentId, transcriptOf(session)), session)
  }
  return all.map((copy) => sourceOfCopy(copy, sessions.get(placeOf(copy.agentId, copy))))
}

/** The same for some of them. */
export function sourcesOfSome(app: SourceParts, copies: TranscriptCopy[]): Promise<SearchSource[]> {
  return Promise.all(
    copies.map(async (copy) => {
      const found = copy.isArchived ? [] : await app.sessions(copy.agentId).find(copy.sessionId)
      const isIts = (session: { key: string; entry: SessionEntry }): boolean =>
        placeOf(copy.agentId, transcriptOf(session)) === placeOf(copy.agentId, copy)
      return sourceOfCopy(copy, found.find(isIts))
    }),
  )
}

function sourceOfCopy(
  { agentId, path, sessionId, isArchived }: TranscriptCopy,
  session: { key: string; entry: SessionEntry } | undefined,
): SearchSource {
  return ourSource(agentId, path, sessionId, isArchived ? undefined : session)
}

function placeOf(agentId: string, ref: { sessionId: string; topicId?: string | number }): string {
  return JSON.stringify([agentId, ref.sessionId, ref.topicId === undefined ? null : String(ref.topicId)])
}

/** What a reset has set aside was said all the same. */
async function resetSources(app: SourceParts, agentId: string, since = 0): Promise<SearchSource[]> {
  const dir = app.paths.sessions(agentId)
  const archives = await app.transcripts(agentId).archives()
  return archives
    .filter(({ reason, at }) => reason === 'reset' && at >= since)
    .map(({ name, sessionId }) => ourSource(agentId, join(dir, name), sessionId))
}

/** Where the transcript of a session is after a reset or a return: set aside of late, or in its place again. */
export async function movedSources(
  app: SourceParts,
  { agentId, key }: { agentId: string; key: string },
  since: number,
): Promise<SearchSource[]> {
  const entry = await app.sessions(agentId).peek(key)
  const path = entry && fileOf(app, app.paths.sessions(agentId), agentId, transcriptOf({ key, entry }))
  const current =
    path === undefined ? [] : [ourSource(agentId, path, entry!.sessionId, { key, entry: entry! })]
  return [...(await resetSources(app, agentId, since)), ...current]
}

export function ourSource(
  agentId: string,
  path: string,
  sessionId: string,
  session?: { key: string; entry: SessionEntry },
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

function fileOf(
  app: SourceParts,
  dir: string,
  agentId: string,
  ref: Parameters<typeof transcriptFile>[2],
): string | undefined {
  try {
    return transcriptFile(dir, agentId, ref)
  } catch (error) {
    app.log.warn(
      { event: 'transcript-not-indexed', agentId, error: String(error) },
      'Could not copy a transcript for the search index; search does not find it.',
    )
    return undefined
  }
}

/** The folders that notes are in, and whose they are. */
function noteFolders(app: SourceParts): Map<string, string[]> {
  const folders = new Map<string, string[]>()
  const add = (folder: string, agentId: string): void => {
    folders.set(folder, [...(folders.get(folder) ?? []), agentId])
  }
  for (const agentId of app.agentIds()) {
    const { workspace } = agentFrom(app.config, app.paths, agentId)
    add(join(app.paths.agent(agentId), 'memory'), agentId)
    add(join(workspace, 'memory'), agentId)
    add(workspace, agentId)
  }
  // A folder that the configuration names is meant for all of them.
  for (const folder of app.config.memory.folders) folders.set(resolve(app.paths.root, folder), ['*'])
  return folders
}

export function noteSources(app: SourceParts): SearchSource[] {
  return [...noteFolders(app)].flatMap(([folder, agentIds]) => {
    const files = isWorkspace(folder, agentIds)
      ? filesIn(folder, /^MEMORY\.md$/i)
      : [folder, ...foldersBelow(folder)].flatMap((each) => filesIn(each, /\.md$/i))
    return files.map((path) => ({ kind: 'memory' as const, path, sessionId: noteName(path), agentIds }))
  })
}

/** Where notes come and go: their folders, and the folders in them. */
export function watchedFolders(app: SourceParts): string[] {
  return [...noteFolders(app)].flatMap(([folder, agentIds]) =>
    isWorkspace(folder, agentIds) ? [folder] : [folder, ...foldersBelow(folder)],
  )
}

function isWorkspace(folder: string, agentIds: string[]): boolean {
  return basename(folder) !== 'memory' && !agentIds.includes('*')
}

function noteName(path: string): string {
  const parts = path.split('/')
  return parts.at(-2) === 'memory' ? `memory/${parts.at(-1)}` : parts.at(-1)!
}

/** Notes may be sorted into folders; links are not followed. */
function foldersBelow(folder: string, depth = 3): string[] {
  if (depth === 0) return []
  const below = entriesOf(folder).filter((entry) => entry.isDirectory())
  return below.flatMap(({ name }) => {
    const path = join(folder, name)
    return [path, ...foldersBelow(path, depth - 1)]
  })
}

function filesIn(folder: string, names: RegExp): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isFile() && names.test(entry.name))
    .map((entry) => join(folder, entry.name))
}

function entriesOf(folder: string): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder)
  } catch {
    // An agent without notes has no such folder.
    return []
  }
}

const readFolder = (folder: string) => readdirSync(folder, { withFileTypes: true })
