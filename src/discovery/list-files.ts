// Lists transcripts: `<config>/projects/<slug>/<session id>.jsonl`, with sub-agents and small side files in a folder named
// after the session. Reads only names, sizes and times; no file is opened except the side files.
import { accessSync, constants, existsSync, readdirSync, statSync, type Dirent } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { DiscoveryConfig } from '../domain/config/coding-settings.ts'
import type { OtherAgent } from '../domain/agent.ts'
import type { UnreadablePath } from '../domain/discovered-session.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import { readForeign } from '../store/disk/foreign-file.ts'
import { realPath } from './repo-paths.ts'
import { redacted } from './transcript-facts.ts'
import { errorText } from '../domain/errors.ts'

export interface TranscriptFile {
  path: string
  configDir: string
  /** From the file's name, or of the session that a sub-agent belongs to. Undefined if the path does not tell (`agent-…`). */
  sessionId: string | undefined
  kind: 'session' | 'subagent'
  /** Absent for Claude Code. */
  agentKind?: OtherAgent
  /** All files of a session that has several; else `path` is the file. */
  paths?: string[]
  inode: number
  size: number
  mtimeMs: number
}

/** The facts in the side files of a session. */
export interface SideFiles {
  customTitle?: string
  archived: boolean
}

export interface Listing {
  files: TranscriptFile[]
  side: Map<string, SideFiles>
  /** Folders and files that could not be read. */
  unreadable: UnreadablePath[]
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ending = '.jsonl'
const deepest = 6

interface ConfigDirSources {
  home: string
  /** `CLAUDE_CONFIG_DIR`; several are separated by commas. */
  claudeConfigDir?: string
  discovery: Pick<DiscoveryConfig, 'configDirs' | 'onlyConfigured'>
}

/** Claude's config directories: real paths, each once. A directory that does not exist is kept: a first session creates it. */
export function configDirsOf({ home, claudeConfigDir, discovery }: ConfigDirSources): string[] {
  const named = [...(claudeConfigDir?.split(',') ?? []), ...discovery.configDirs]
  const usual = discovery.onlyConfigured ? [] : [join(home, '.claude'), join(home, '.config', 'claude')]
  const paths = [...named, ...usual].map((path) => path.trim()).filter((path) => path !== '')
  const absolute = paths.map((path) => (path.startsWith('~/') ? join(home, path.slice(2)) : resolve(path)))
  return [...new Set(absolute.map((path) => (existsSync(path) ? realPath(path) : path)))]
}

/** Adds the transcripts in these directories to the listing. */
export function listTranscripts(configDirs: readonly string[], listing: Listing = emptyListing()): Listing {
  for (const configDir of configDirs) {
    const projects = join(configDir, 'projects')
    for (const entry of entriesOf(projects, listing)) {
      const path = `${projects}/${entry.name}`
      if (isFolder(entry, path, listing)) listProject(path, configDir, listing)
      else if (entry.isFile() && entry.name.endsWith(ending))
        addFile(path, configDir, undefined, 'subagent', listing)
    }
  }
  return listing
}

export function emptyListing(): Listing {
  return { files: [], side: new Map(), unreadable: [] }
}

export function isSessionId(name: string): boolean {
  return uuid.test(name)
}

/** The id in the file name of a sub-agent's transcript; undefined for a session's own. */
export function subagentIdIn(path: string): string | undefined {
  return /^agent-(.+)\.jsonl$/.exec(basename(path))?.[1]
}

function listProject(folder: string, configDir: string, listing: Listing): void {
  for (const entry of entriesOf(folder, listing)) {
    const path = `${folder}/${entry.name}`
    if (entry.isFile() && entry.name.endsWith(ending)) {
      const name = entry.name.slice(0, -ending.length)
      const isSession = uuid.test(name)
      addFile(
        path,
        configDir,
        isSession ? name.toLowerCase() : undefined,
        isSession ? 'session' : 'subagent',
        listing,
      )
    } else if (entry.isDirectory()) {
      const sessionId = uuid.test(entry.name) ? entry.name.toLowerCase() : undefined
      listInside(path, configDir, sessionId, listing, 0)
    }
  }
}

/** Everything below a session's folder belongs to the session. */
function listInside(
  folder: string,
  configDir: string,
  sessionId: string | undefined,
  listing: Listing,
  depth: number,
): void {
  for (const entry of entriesOf(folder, listing)) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory() && depth < deepest) listInside(path, configDir, sessionId, listing, depth + 1)
    else if (!entry.isFile()) continue
    else if (entry.name.endsWith(ending)) addFile(path, configDir, sessionId, 'subagent', listing)
    else if (depth === 0 && sessionId !== undefined) noteSideFile(path, entry.name, sessionId, listing)
  }
}

function addFile(
  path: string,
  configDir: string,
  sessionId: string | undefined,
  kind: TranscriptFile['kind'],
  listing: Listing,
): void {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    listing.files.push({ path, configDir, sessionId, kind, inode: ino, size, mtimeMs })
  } catch (error) {
    noteUnreadable(path, error, listing)
  }
}

function noteSideFile(path: string, name: string, sessionId: string, listing: Listing): void {
  if (name !== 'custom-title.json' && name !== 'archived.json') return
  let content: unknown
  try {
    content = JSON.parse(readForeign(path, 65_536).toString('utf8'))
  } catch (error) {
    noteUnreadable(path, error, listing)
    return
  }
  if (typeof content !== 'object' || content === null) return
  const side = listing.side.get(sessionId) ?? { archived: false }
  if ('archived' in content) side.archived = content.archived === true
  if ('customTitle' in content && typeof content.customTitle === 'string')
    side.customTitle = redacted(content.customTitle)
  listing.side.set(sessionId, side)
}

/** The content of a folder; empty if the folder cannot be read, which the listing then reports. */
export function entriesOf(folder: string, listing: Listing): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    noteUnreadable(folder, error, listing)
    return []
  }
}

/** A project's folder may be a link to another disk. */
function isFolder(entry: Dirent, path: string, listing: Listing): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    noteUnreadable(path, error, listing)
    return false
  }
}

/** The reason why a file cannot be opened for reading; empty if it can. */
export function accessFault(path: string): UnreadablePath[] {
  try {
    accessSync(path, constants.R_OK)
    return []
  } catch (error) {
    const reason = unreadableReason(error)
    return reason === undefined ? [] : [{ path, reason }]
  }
}

export function noteUnreadable(path: string, error: unknown, listing: Listing): void {
  const reason = unreadableReason(error)
  if (reason !== undefined) listing.unreadable.push({ path, reason })
}

/** The reason in words; undefined for a path that does not exist: Claude never ran, or the file was deleted meanwhile. */
export function unreadableReason(error: unknown): string | undefined {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied'
  return errorText(error)
}
