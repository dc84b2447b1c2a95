// Notices that transcripts change, while the gateway runs. The system tells which folder changed; what changed is then
// found by looking, so that a lost or doubled notice does no harm. A slow look now and then covers file systems that
// tell nothing.
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../domain/clock.ts'

type OnChange = (paths: string[] | undefined) => Promise<void>

/** Changes come in bursts; this much later they are looked at together. */
const gatherMs = 15
const lookAnywayMs = 30_000

/** `onChange` gets the transcripts that changed, or nothing when it has to look at all of them. */
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
  readonly #changed = new Set<string>()
  /** Something changed that is no transcript: a folder, a side file, a live process. */
  #isUnclear = false
  #isStopped = false

  constructor(configDirs: readonly string[], clock: Clock, onChange: OnChange) {
    this.#configDirs = configDirs
    this.#clock = clock
    this.#onChange = onChange
  }

  start(): void {
    this.#watchFolders()
    this.#cancelRound = this.#clock.after(lookAnywayMs, () => {
      this.#look(undefined)
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
    const wanted = new Set(
      this.#configDirs.flatMap((dir) => [dir, join(dir, 'sessions'), join(dir, 'projects')]),
    )
    for (const dir of this.#configDirs)
      for (const folder of foldersBelow(join(dir, 'projects'), 3)) wanted.add(folder)
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
      // The folder was removed, or the system has no more watches: the round that looks anyway goes on.
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
    if (name !== null && /\.(?:key|tmp|lock)$/.test(name)) return
    if (name?.endsWith('.jsonl')) this.#changed.add(join(folder, name))
    else this.#isUnclear = true
    this.#cancelLook ??= this.#clock.after(gatherMs, () => {
      this.#cancelLook = undefined
      const paths = this.#isUnclear ? undefined : [...this.#changed]
      // A folder may be new, and then has to be watched as well.
      if (this.#isUnclear) this.#watchFolders()
      this.#isUnclear = false
      this.#changed.clear()
      this.#look(paths)
    })
  }

  #look(paths: string[] | undefined): void {
    if (this.#isStopped) return
    this.#looking = this.#looking.then(() => this.#onChange(paths))
  }
}

function foldersBelow(folder: string, depth: number): string[] {
  if (depth === 0) return []
  let names: string[]
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch {
    // Not there yet: its parent is watched.
    return []
  }
  return names.map((name) => join(folder, name)).flatMap((path) => [path, ...foldersBelow(path, depth - 1)])
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
