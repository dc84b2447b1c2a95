// Watches transcripts for changes while the gateway runs. The system reports which folder changed; reading it shows what
// changed, so a lost or repeated notification does no harm. A periodic check covers file systems without notifications: of all
// transcripts if that is cheap; otherwise mostly of those that changed last. When the system has no more watches, the folders that
// changed last keep theirs, and the next ones are polled every few seconds.
import { readdirSync, statSync, watch, type FSWatcher } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import { modifiedAt } from '../store/disk/foreign-file.ts'

/** What may have changed. */
export interface Change {
  /** Changed transcripts; undefined when all have to be checked. */
  transcripts: string[] | undefined
  /** Claude's registry of live processes has changed. */
  live: boolean
}

type OnChange = (change: Change) => Promise<void>

/** Changes come in bursts; this much later they are handled together. */
const gatherMs = 15
const pollMs = 30_000
/** A check of all transcripts takes a second if there are very many: the pause between two checks is this many times as long as a
 *  check. */
const checkAllShare = 1_000
const maxCheckAllMs = 10 * 60_000
/** Folders without a watch are polled: at most this many, those that changed last, at this interval. */
const polledFolders = 50
const pollUnwatchedMs = 3_000
/** Folders of sessions without a change for this long are not watched: a system has few watches. */
const inactiveMs = 24 * 3_600_000

interface WatchParts {
  configDirs: readonly string[]
  clock: Clock
  log: Log
  /** The transcripts that changed last. */
  recent: () => string[]
  /** For a test of a system without watches. */
  watch?: (path: string, listener: (event: string, name: string | null) => void) => FSWatcher
}

export function watchTranscripts(parts: WatchParts, onChange: OnChange): () => Promise<void> {
  const watcher = new TranscriptWatcher(parts, onChange)
  watcher.start()
  return () => watcher.stop()
}

class TranscriptWatcher {
  readonly #parts: WatchParts
  readonly #configDirs: readonly string[]
  readonly #clock: Clock
  readonly #onChange: OnChange
  readonly #folders = new Map<string, FSWatcher>()
  #cancelGather: (() => void) | undefined
  #cancelPoll: (() => void) | undefined
  #handling: Promise<void> = Promise.resolve()
  #changed = new Set<string>()
  /** A folder or a side file changed: all transcripts must be checked. */
  #mustCheckAll = false
  #hasLiveChange = false
  #isStopped = false
  #hasReportedLimit = false
  /** Folders that the system could not watch, those that changed last first, and the transcripts in them when last seen. */
  #unwatched: string[] = []
  #seen = new Map<string, string>()
  #cancelPollUnwatched: (() => void) | undefined
  /** When the periodic check looks at all transcripts again, and the folders with transcripts as they were at the last one. */
  #checkAllAt = -Infinity
  #projectsSeen = ''

  constructor(parts: WatchParts, onChange: OnChange) {
    this.#parts = parts
    this.#configDirs = parts.configDirs
    this.#clock = parts.clock
    this.#onChange = onChange
  }

  start(): void {
    this.#watchFolders()
    this.#pollLater()
  }

  #pollLater(): void {
    this.#cancelPoll = this.#clock.after(pollMs, () => {
      const projects = this.#configDirs.map(projectStamps).join()
      if (this.#clock.monotonic() >= this.#checkAllAt || projects !== this.#projectsSeen) {
        this.#projectsSeen = projects
        this.#checkAll()
      } else this.#handle({ transcripts: this.#parts.recent(), live: true })
      if (!this.#isStopped) this.#pollLater()
    })
  }

  #checkAll(): void {
    const began = this.#clock.monotonic()
    this.#watchFolders()
    const watchedAt = this.#clock.monotonic()
    this.#checkAllAt = Infinity
    this.#handle({ transcripts: undefined, live: true }, (handleMs) => {
      const tookMs = watchedAt - began + handleMs
      this.#checkAllAt = this.#clock.monotonic() + Math.min(tookMs * checkAllShare, maxCheckAllMs)
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelGather?.()
    this.#cancelPoll?.()
    this.#cancelPollUnwatched?.()
    for (const folder of this.#folders.values()) folder.close()
    this.#folders.clear()
    await this.#handling
  }

  /** The config directories, their projects, and the folders of sessions, where sub-agents write. Before Claude's first start a
   *  config directory does not exist: then the folder is watched in which it will appear. Returns true if a folder is new. */
  #watchFolders(): boolean {
    const since = this.#clock.now() - inactiveMs
    const wanted = new Set(
      this.#configDirs.flatMap((dir) =>
        isFolder(dir) ? [dir, join(dir, 'sessions'), ...projectFolders(dir, since)] : dirname(dir),
      ),
    )
    for (const [path, watcher] of this.#folders) {
      if (wanted.has(path)) continue
      watcher.close()
      this.#folders.delete(path)
    }
    const missing = [...wanted].filter((path) => !this.#folders.has(path) && isFolder(path))
    const added = byRecency(missing).filter((path) => this.#watchFolder(path))
    this.#unwatched = byRecency(missing.filter((path) => !this.#folders.has(path)))
    if (this.#unwatched.length > 0) this.#pollUnwatched()
    return added.length > 0
  }

  /** Returns true if the folder was not watched before. */
  #watchFolder(path: string): boolean {
    try {
      const watcher = (this.#parts.watch ?? watch)(path, (_event, name) => this.#noticed(path, name))
      // The folder was removed, or the system has no more watches: periodic polling still finds changes.
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(path)
      })
      this.#folders.set(path, watcher)
      return true
    } catch (error) {
      if (limitCodes.has(errorCode(error) ?? '')) this.#reportLimit()
      // Otherwise the folder was removed in between.
      return false
    }
  }

  #reportLimit(): void {
    if (this.#hasReportedLimit) return
    this.#hasReportedLimit = true
    this.#parts.log.warn(
      { event: 'watch-limit', watched: this.#folders.size },
      'The system has no more file watches; changes in further folders are found by polling, after seconds. On Linux, raise fs.inotify.max_user_watches and max_user_instances.',
    )
  }

  /** Transcripts in the folders that changed last; the periodic check finds the others. */
  #pollUnwatched(): void {
    if (this.#seen.size === 0) this.#seen = this.#lookAtUnwatched()
    this.#cancelPollUnwatched ??= this.#clock.after(pollUnwatchedMs, () => {
      this.#cancelPollUnwatched = undefined
      const now = this.#lookAtUnwatched()
      const changed = [...now].filter(([path, stamp]) => this.#seen.get(path) !== stamp).map(([path]) => path)
      this.#seen = now
      if (changed.length > 0) this.#handle({ transcripts: changed, live: false })
      if (this.#unwatched.length > 0 && !this.#isStopped) this.#pollUnwatched()
    })
  }

  #lookAtUnwatched(): Map<string, string> {
    return new Map(this.#unwatched.slice(0, polledFolders).flatMap(transcriptStamps))
  }

  #noticed(folder: string, name: string | null): void {
    if (!this.#note(folder, name)) return
    this.#cancelGather ??= this.#clock.after(gatherMs, () => {
      this.#cancelGather = undefined
      // New folders must be watched, too, and those that appeared in them before they were watched.
      if (this.#mustCheckAll) while (this.#watchFolders());
      this.#handle({
        transcripts: this.#mustCheckAll ? undefined : [...this.#changed],
        live: this.#hasLiveChange,
      })
      this.#mustCheckAll = this.#hasLiveChange = false
      this.#changed = new Set()
    })
  }

  /** Remembers what changed; false if it does not concern sessions. */
  #note(folder: string, name: string | null): boolean {
    const isConfigDir = this.#configDirs.includes(folder)
    const awaited = isConfigDir ? [] : this.#configDirs.filter((dir) => dirname(dir) === folder)
    if (awaited.length > 0) {
      if (name !== null && !awaited.includes(join(folder, name))) return false
      this.#mustCheckAll = true
    } else if (basename(folder) === 'sessions' && this.#configDirs.includes(dirname(folder))) {
      if (name !== null && !/^\d+\.json$/.test(name)) return false
      this.#hasLiveChange = true
    } else if (isConfigDir && name !== null && name !== 'projects' && name !== 'sessions') return false
    else if (name?.endsWith('.jsonl')) this.#changed.add(join(folder, name))
    else if (name === null || !name.includes('.') || sideFiles.has(name)) this.#mustCheckAll = true
    else return false
    return true
  }

  #handle(change: Change, onHandled: (ms: number) => void = () => {}): void {
    if (this.#isStopped) return
    this.#handling = this.#handling.then(async () => {
      const began = this.#clock.monotonic()
      await this.#onChange(change)
      onHandled(this.#clock.monotonic() - began)
    })
  }
}

/** No more watches, or no more watching processes. */
const limitCodes = new Set(['ENOSPC', 'EMFILE', 'ENFILE'])
const sideFiles = new Set(['custom-title.json', 'archived.json'])

function projectFolders(configDir: string, since: number): string[] {
  const projects = join(configDir, 'projects')
  const slugs = foldersIn(projects)
  const sessions = slugs.flatMap((slug) => foldersIn(slug)).filter((path) => changedSince(path, since))
  return [projects, ...slugs, ...sessions, ...sessions.flatMap((session) => foldersIn(session))]
}

/** Differs after a transcript was added to a project or removed from it. */
function projectStamps(configDir: string): string {
  const projects = join(configDir, 'projects')
  return [projects, ...foldersIn(projects)].map((path) => `${path} ${modifiedAt(path)}`).join()
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name))
  } catch {
    // It does not exist yet: its parent is watched.
    return []
  }
}

function changedSince(path: string, since: number): boolean {
  return modifiedAt(path) >= since
}

function byRecency(paths: readonly string[]): string[] {
  const at = new Map(paths.map((path) => [path, modifiedAt(path)]))
  return [...paths].sort((a, b) => at.get(b)! - at.get(a)!)
}

/** Each transcript of a folder with its size and time. */
function transcriptStamps(folder: string): Array<[path: string, stamp: string]> {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    return names.map((name) => {
      const path = join(folder, name)
      const stats = statSync(path, { throwIfNoEntry: false })
      return [path, `${stats?.size} ${stats?.mtimeMs}`]
    })
  } catch {
    // The folder was removed.
    return []
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
