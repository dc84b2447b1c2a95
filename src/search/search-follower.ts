// Keeps the search index up to date while the gateway runs: collects what changed, and passes it to the indexing thread.
import { existsSync, watch, type FSWatcher } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { repeat } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { Events, RockpoolEvent } from '../domain/events.ts'
import type { IndexProgress, SearchSource } from '../domain/search.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import {
  movedSources,
  nativeSource,
  noteFolders,
  noteSources,
  ourSource,
  searchSources,
  sourcesOfCopies,
} from './search-sources.ts'
import type { SourceParts } from './search-sources.ts'
import { IndexThread } from './search-threads.ts'

interface FollowerParts {
  sources: SourceParts
  clock: Clock
  events: Events
  /** Sessions were deleted for good, perhaps on another machine: the index must forget them. */
  onDeleted(sessionIds: string[]): Promise<void>
}

type Appended = Extract<RockpoolEvent, { type: 'transcript-appended' }>

/** Messages come in bursts; this much later they are indexed together. */
const gatherMs = 100
/** All sources are checked this often, for changes without an event: notes, deletions, other processes. */
const roundMs = 300_000
/** The shared database is checked this often, for changes without an event. */
const copiesMs = 1_000

export class SearchFollower {
  readonly #parts: FollowerParts
  readonly #sources: SourceParts
  readonly #thread: IndexThread
  /** Changes since the last reading: our transcripts by file, sessions of Claude Code and other agents by id, sessions that a reset or a restore
   *  moved, notes, and copies of a shared database. */
  #ours = new Map<string, Appended>()
  #native = new Set<string>()
  #moved: Array<{ agentId: string; key: string }> = []
  #hasNewNotes = false
  #mayHaveCopies = false
  #cancels: Array<() => void> = []
  #cancelGather: (() => void) | undefined
  #watched = new Map<string, FSWatcher>()
  #isStopped = false
  /** The progress of a reading of all sources. */
  reading: IndexProgress | undefined

  constructor(parts: FollowerParts, job: ConstructorParameters<typeof IndexThread>[0]) {
    this.#parts = parts
    this.#sources = parts.sources
    this.#thread = new IndexThread(
      job,
      (progress) => {
        if (this.reading) this.reading = progress
      },
      (message) => this.#sources.log.warn({ event: 'search-warning' }, message),
    )
  }

  start(): void {
    const { clock, events } = this.#parts
    this.#cancels.push(events.on((event) => this.#note(event)))
    void this.#round().then(() => {
      if (!this.#isStopped) this.#cancels.push(repeat(clock, roundMs, () => this.#round()))
    })
    if (this.#sources.copies) this.#cancels.push(repeat(clock, copiesMs, () => this.#noteCopies()))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#cancelGather?.()
    for (const watcher of this.#watched.values()) watcher.close()
    await this.#thread.stop()
  }

  /** Pauses indexing while the index file is replaced, then reads everything again. */
  async pauseWhile(replaceIndex: () => Promise<void>): Promise<void> {
    await this.#thread.pause()
    await replaceIndex()
    void this.#orReport(() => this.readAll())
  }

  async readAll(): Promise<IndexProgress> {
    this.reading ??= { files: 0, filesDone: 0, bytesRead: 0, passages: 0 }
    try {
      return await this.#thread.read(await searchSources(this.#sources), true)
    } finally {
      this.reading = undefined
    }
  }

  async #round(): Promise<void> {
    this.#watchNotes()
    await this.#orReport(() => this.readAll())
  }

  #note(event: RockpoolEvent): void {
    const isMove = event.type === 'session-changed' && /^(reset:|restored$)/.test(event.why)
    const isOurs = event.type === 'transcript-appended' || event.type === 'session-deleted' || isMove
    if (event.type === 'native-changed') this.#native.add(event.sessionId)
    else if (isOurs && this.#sources.copies) this.#mayHaveCopies = true
    else if (event.type === 'transcript-appended') this.#ours.set(event.file, event)
    else if (isMove) this.#moved.push(event)
    else return
    this.#gather()
  }

  #noteCopies(): void {
    this.#mayHaveCopies = true
    this.#gather()
  }

  #gather(): void {
    this.#cancelGather ??= this.#parts.clock.after(gatherMs, () => {
      this.#cancelGather = undefined
      void this.#orReport(() => this.#readChanged())
    })
  }

  async #readChanged(): Promise<void> {
    const ours = [...this.#ours.values()]
    const native = [...this.#native]
    const moved = this.#moved.splice(0)
    // A new note may be in a new folder.
    if (this.#hasNewNotes) this.#watchNotes()
    const notes = this.#hasNewNotes ? noteSources(this.#sources) : []
    this.#ours = new Map()
    this.#native = new Set()
    this.#hasNewNotes = false
    const since = this.#parts.clock.now() - roundMs
    const found = await Promise.all([
      ...moved.map((session) => movedSources(this.#sources, session, since)),
      ...ours.map((event) => this.#appendedSource(event)),
      this.#changedCopies(),
    ])
    const sources = [...found.flat(), ...(await this.#nativeSources(native)), ...notes]
    if (sources.length > 0 && !this.#isStopped) await this.#thread.read(sources, false)
  }

  /** A session that was deleted meanwhile has no transcripts; the next round forgets them. */
  async #nativeSources(sessionIds: string[]): Promise<SearchSource[]> {
    if (sessionIds.length === 0) return []
    const transcripts = await this.#sources.discovery().transcripts(sessionIds)
    const copies = await this.#sources.copiesOfOthers(sessionIds)
    return [...copies, ...transcripts].map(nativeSource)
  }

  /** What changed in the shared database. Dropped transcripts are included, so that the index forgets them. */
  async #changedCopies(): Promise<SearchSource[]> {
    const { copies } = this.#sources
    if (!copies || !this.#mayHaveCopies) return []
    this.#mayHaveCopies = false
    // If the database is unavailable, the next check tries again and the other changes are still read.
    await this.#orReport(() => copies.catchUp().catch(unlessUnavailable))
    const { changed, dropped, gone } = copies.takeChanges()
    if (gone.length > 0) await this.#parts.onDeleted(gone.map(({ sessionId }) => sessionId))
    return sourcesOfCopies(this.#sources, [...changed, ...dropped])
  }

  async #appendedSource({ agentId, sessionId, file, key }: Appended): Promise<SearchSource[]> {
    const entry = key === undefined ? undefined : await this.#sources.sessions(agentId).peek(key)
    return [ourSource(agentId, file, sessionId, entry && { key: key!, entry })]
  }

  /** Watches every folder of notes; for a folder that does not exist yet, its nearest parent. */
  #watchNotes(): void {
    for (const folder of noteFolders(this.#sources)) {
      let parent = folder
      while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent)
      this.#watch(parent, parent === folder ? undefined : relative(parent, folder).split(sep)[0])
    }
  }

  #watch(folder: string, only?: string): void {
    // Not the path of the awaited folder, which is watched itself when it exists.
    const key = only === undefined ? folder : `${folder}\0${only}`
    // A listing that finishes after close() must not leave a watcher open.
    if (this.#isStopped || this.#watched.has(key)) return
    try {
      const watcher = watch(folder, (event, name) => {
        // The watcher of a removed folder reports nothing, even if the folder is created again.
        if (event === 'rename' && !existsSync(folder)) end()
        if (only !== undefined && name !== only) return
        this.#hasNewNotes = true
        this.#gather()
      })
      const end = (): void => {
        watcher.close()
        this.#watched.delete(key)
      }
      watcher.on('error', end)
      this.#watched.set(key, watcher)
    } catch {
      // The folder was removed, or the system has no more watches: the next round looks anyway.
    }
  }

  /** A failure of indexing is logged and does not affect anything else. */
  async #orReport(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#isStopped)
        this.#sources.log.warn(
          { event: 'search-index-failed', error: String(error) },
          'Could not update the search index; retrying later.',
        )
    }
  }
}

/** The store itself reports that the database is unavailable. */
function unlessUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}
