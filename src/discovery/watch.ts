// Watches transcripts for changes while the gateway runs. The system reports which folder changed; reading it shows what
// changed, so a lost or repeated notification does no harm. A periodic check covers file systems without notifications.
import { readdirSync, statSync, watch, type FSWatcher } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'

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
/** Folders of sessions without a change for this long are not watched: a system has few watches. */
const inactiveMs = 24 * 3_600_000

export function watchTranscripts(
  configDirs: readonly string[],
  clock: Clock,
  onChange: OnChange,
): () => Promise<void> {
  const watcher = new TranscriptWatcher(configDirs, clock, onChange)
  watcher.start()
  return () => watcher.stop()
}

class TranscriptWatcher {
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

  constructor(configDirs: readonly string[], clock: Clock, onChange: OnChange) {
    this.#configDirs = configDirs
    this.#clock = clock
    this.#onChange = onChange
  }

  start(): void {
    this.#watchFolders()
    this.#cancelPoll = this.#clock.after(pollMs, () => {
      this.#handle({ transcripts: undefined, live: true })
      if (!this.#isStopped) this.start()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelGather?.()
    this.#cancelPoll?.()
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
    const added = [...wanted].filter((path) => this.#watchFolder(path))
    return added.length > 0
  }

  /** Returns true if the folder was not watched before. */
  #watchFolder(path: string): boolean {
    if (this.#folders.has(path) || !isFolder(path)) return false
    try {
      const watcher = watch(path, (_event, name) => this.#noticed(path, name))
      // The folder was removed, or the system has no more watches: periodic polling still finds changes.
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(path)
      })
      this.#folders.set(path, watcher)
      return true
    } catch {
      // As above.
      return false
    }
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

  #handle(change: Change): void {
    if (this.#isStopped) return
    this.#handling = this.#handling.then(() => this.#onChange(change))
  }
}

const sideFiles = new Set(['custom-title.json', 'archived.json'])

function projectFolders(configDir: string, since: number): string[] {
  const projects = join(configDir, 'projects')
  const slugs = foldersIn(projects)
  const sessions = slugs.flatMap((slug) => foldersIn(slug)).filter((path) => changedSince(path, since))
  return [projects, ...slugs, ...sessions, ...sessions.flatMap((session) => foldersIn(session))]
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
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
