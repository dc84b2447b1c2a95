// Watches the folders in which other agents write now, while the gateway runs. The system says which folder changed; which
// sessions changed is found by a refresh, so a lost or repeated notification does no harm. Refreshes are limited: an agent at
// work writes several times a second.
import { watch, type FSWatcher } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import type { WatchedFolder } from './contract.ts'

type OnChange = (transcripts: string[] | undefined) => Promise<void>

/** Changes come in bursts; they are handled together this much later, and at most this often. */
const gatherMs = 200
const atMostEveryMs = 1_000
/** How often to look for new folders. */
const lookMs = 10_000
/** A system has few watches. */
const mostFolders = 200

/** `folders`: those that agents may write to now, the most likely first. */
export function watchAgents(
  folders: () => WatchedFolder[],
  clock: Clock,
  onChange: OnChange,
): () => Promise<void> {
  const watcher = new AgentWatcher(folders, clock, onChange)
  watcher.look()
  return () => watcher.stop()
}

class AgentWatcher {
  readonly #folders: () => WatchedFolder[]
  readonly #clock: Clock
  readonly #onChange: OnChange
  readonly #watched = new Map<string, FSWatcher>()
  #changed = new Set<string>()
  #mustCheckAll = false
  #cancelLook: (() => void) | undefined
  #cancelHandle: (() => void) | undefined
  #handledAt = -Infinity
  #handling: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(folders: () => WatchedFolder[], clock: Clock, onChange: OnChange) {
    this.#folders = folders
    this.#clock = clock
    this.#onChange = onChange
  }

  look(): void {
    if (this.#isStopped) return
    const wanted = new Map(
      this.#folders()
        .slice(0, mostFolders)
        .map((folder) => [folder.path, folder]),
    )
    for (const [path, watcher] of this.#watched) if (!wanted.has(path)) this.#forget(path, watcher)
    for (const folder of wanted.values()) if (!this.#watched.has(folder.path)) this.#watch(folder)
    this.#cancelLook = this.#clock.after(lookMs, () => this.look())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelLook?.()
    this.#cancelHandle?.()
    for (const [path, watcher] of this.#watched) this.#forget(path, watcher)
    await this.#handling
  }

  #watch({ path, oneFileEach }: WatchedFolder): void {
    try {
      const watcher = watch(path, { persistent: false }, (_event, name) => {
        if (oneFileEach && name?.endsWith('.jsonl')) this.#changed.add(join(path, name))
        else this.#mustCheckAll = true
        this.#handleSoon()
      })
      watcher.on('error', () => this.#forget(path, watcher))
      this.#watched.set(path, watcher)
    } catch {
      // It does not exist yet, or the system has no watch left: the periodic check finds what changes there.
    }
  }

  #forget(path: string, watcher: FSWatcher): void {
    watcher.close()
    this.#watched.delete(path)
  }

  #handleSoon(): void {
    const wait = Math.max(gatherMs, this.#handledAt + atMostEveryMs - this.#clock.monotonic())
    this.#cancelHandle ??= this.#clock.after(wait, () => {
      this.#cancelHandle = undefined
      this.#handledAt = this.#clock.monotonic()
      const changed = this.#mustCheckAll ? undefined : [...this.#changed]
      this.#changed = new Set()
      this.#mustCheckAll = false
      this.#handling = this.#handling.then(() => this.#onChange(changed))
    })
  }
}
