// Notices that transcripts change, while the gateway runs. The system tells which folder changed; what changed is then
// found by looking, so that a lost or doubled notice does no harm. A slow look now and then covers file systems that
// tell nothing.
import { readdirSync, statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../domain/clock.ts'

/** What may have changed. */
export interface Change {
  /** Transcripts; undefined when all of them have to be looked at. */
  transcripts: string[] | undefined
  /** Claude's registry of live processes. */
  live: boolean
}

type OnChange = (change: Change) => Promise<void>

/** Changes come in bursts; this much later they are looked at together. */
const gatherMs = 15
const lookAnywayMs = 30_000
/** Folders of sessions that rested longer than this are not watched: there are many, and a system has few watches. */
const restedMs = 24 * 3_600_000

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
  #cancelLook: (() => void) | undefined
  #cancelRound: (() => void) | undefined
  #looking: Promise<void> = Promise.resolve()
  #changed = new Set<string>()
  /** A change outside of transcripts: a folder, a side file. */
  #isUnclear = false
  #isLive = false
  #isStopped = false

  constructor(configDirs: readonly string[], clock: Clock, onChange: OnChange) {
    this.#configDirs = configDirs
    this.#clock = clock
    this.#onChange = onChange
  }

  start(): void {
    this.#watchFolders()
    this.#cancelRound = this.#clock.after(lookAnywayMs, () => {
      this.#look({ transcripts: undefined, live: true })
      if (!this.#isStopped) this.start()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelLook?.()
    this.#cancelRound?.()
    for (const folder of this.#folders.values()) folder.close()
    this.#folders.clear()
    await this.#looking
  }

  /** The config directories, their projects, and the folders of sessions, where sub-agents write. */
  #watchFolders(): void {
    const since = this.#clock.now() - restedMs
    const wanted = new Set(
      this.#configDirs.flatMap((dir) => [dir, join(dir, 'sessions'), ...projectFolders(dir, since)]),
    )
    for (const [path, watcher] of this.#folders) {
      if (wanted.has(path)) continue
      watcher.close()
      this.#folders.delete(path)
    }
    for (const path of wanted) this.#watchFolder(path)
  }

  #watchFolder(path: string): void {
    if (this.#folders.has(path) || !isFolder(path)) return
    try {
      const watcher = watch(path, (_event, name) => this.#noticed(path, name))
      // The folder was removed, or the system has no more watches: periodic polling still finds changes.
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(path)
      })
      this.#folders.set(path, watcher)
    } catch {
      // As above.
    }
  }

  #noticed(folder: string, name: string | null): void {
    if (!this.#note(folder, name)) return
    this.#cancelLook ??= this.#clock.after(gatherMs, () => {
      this.#cancelLook = undefined
      // A folder may be new, and then has to be watched as well.
      if (this.#isUnclear) this.#watchFolders()
      this.#look({ transcripts: this.#isUnclear ? undefined : [...this.#changed], live: this.#isLive })
      this.#isUnclear = this.#isLive = false
      this.#changed = new Set()
    })
  }

  /** Remembers what changed; false when it says nothing about sessions. */
  #note(folder: string, name: string | null): boolean {
    const isConfigDir = this.#configDirs.includes(folder)
    if (basename(folder) === 'sessions' && this.#configDirs.includes(dirname(folder))) {
      if (name !== null && !/^\d+\.json$/.test(name)) return false
      this.#isLive = true
    } else if (isConfigDir && name !== null && name !== 'projects' && name !== 'sessions') return false
    else if (name?.endsWith('.jsonl')) this.#changed.add(join(folder, name))
    else if (name === null || !name.includes('.') || sideFiles.has(name)) this.#isUnclear = true
    else return false
    return true
  }

  #look(change: Change): void {
    if (this.#isStopped) return
    this.#looking = this.#looking.then(() => this.#onChange(change))
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
    // Not there yet: its parent is watched.
    return []
  }
}

function changedSince(path: string, since: number): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
