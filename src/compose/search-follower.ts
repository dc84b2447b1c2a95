// Keeps the search index up to date while the gateway runs.
import { existsSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { RockpoolEvent } from '../domain/events.ts'
import type { IndexProgress, SearchSource } from '../domain/search.ts'
import { IndexThread } from '../search/search-threads.ts'
import type { App } from '../operations/app.ts'
import { StoreAway } from '../store/store-unavailable.ts'
import {
  movedSources,
  nativeSource,
  noteSources,
  ourSource,
  searchSources,
  sourcesOfSome,
  watchedFolders,
} from './search-sources.ts'
import type { SourceParts } from './search-sources.ts'

type Needs = SourceParts & Pick<App, 'clock' | 'events'>

/** Messages come in bursts; this much later they are indexed together. */
const gatherMs = 100
/** Everything is looked at again this often, for what no event tells: notes, deletions, other processes. */
const roundMs = 300_000
/** Other machines tell us what they append; this is for what they could not tell. */
const lookMs = 1_000

/** That the database is away is reported elsewhere. */
function unlessAway(error: unknown): void {
  if (!(error instanceof StoreAway)) throw error
}

/** Hears what was said and hands it to the thread that indexes. */
export class SearchFollower {
  readonly #app: Needs
  readonly #thread: IndexThread
  /** Sessions were removed for good, perhaps on another machine: nothing of them may be left. */
  readonly #onGone: (sessionIds: string[]) => Promise<void>
  /** Transcripts of ours that grew: the file, and what the event says about it. */
  #ours = new Map<string, Extract<RockpoolEvent, { type: 'transcript-appended' }>>()
  #native = new Set<string>()
  /** Sessions whose transcript was set aside or brought back. */
  #moved: Array<{ agentId: string; key: string }> = []
  #hasNewNotes = false
  /** The shared database is to be looked at. */
  #mayHaveCopies = false
  #cancels: Array<() => void> = []
  #cancelGather: (() => void) | undefined
  #cancelLook: (() => void) | undefined
  #watched = new Map<string, FSWatcher>()
  #isStopped = false
  /** How far the first look at everything is. */
  reading: IndexProgress | undefined

  constructor(
    app: Needs,
    job: ConstructorParameters<typeof IndexThread>[0],
    onGone: (sessionIds: string[]) => Promise<void>,
  ) {
    this.#app = app
    this.#onGone = onGone
    this.#thread = new IndexThread(
      job,
      (progress) => {
        if (this.reading) this.reading = progress
      },
      (message) => app.log.warn({ event: 'search-warning' }, message),
    )
  }

  start(): void {
    this.#cancels.push(this.#app.events.on((event) => this.#hear(event)))
    void this.#round()
    if (this.#app.copies) this.#lookLater()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#cancelGather?.()
    this.#cancelLook?.()
    for (const watcher of this.#watched.values()) watcher.close()
    await this.#thread.stop()
  }

  /** For as long as the index is exchanged; then everything is read again. */
  async during(exchange: () => Promise<void>): Promise<void> {
    await this.#thread.pause()
    await exchange()
    void this.#orReport(() => this.readAll())
  }

  /** Shows how far it is while it lasts. */
  async readAll(): Promise<IndexProgress> {
    this.reading ??= { files: 0, filesDone: 0, bytesRead: 0, passages: 0 }
    try {
      return await this.#thread.read(await searchSources(this.#app), true)
    } finally {
      this.reading = undefined
    }
  }

  async #round(): Promise<void> {
    this.#watchNotes()
    await this.#orReport(() => this.readAll())
    if (!this.#isStopped) this.#cancels.push(this.#app.clock.after(roundMs, () => void this.#round()))
  }

  /** The shared database may have changes for which no event arrived. */
  #lookLater(): void {
    const again = (): void => {
      this.#mayHaveCopies = true
      this.#gather()
      this.#lookLater()
    }
    if (!this.#isStopped) this.#cancelLook = this.#app.clock.after(lookMs, again)
  }

  #hear(event: RockpoolEvent): void {
    const isMove = event.type === 'session-changed' && /^(reset:|restored$)/.test(event.why)
    const isOurs = event.type === 'transcript-appended' || event.type === 'session-deleted' || isMove
    if (event.type === 'native-changed') this.#native.add(event.sessionId)
    else if (isOurs && this.#app.copies) this.#mayHaveCopies = true
    else if (event.type === 'transcript-appended') this.#ours.set(event.file, event)
    else if (isMove) this.#moved.push(event)
    else return
    this.#gather()
  }

  #gather(): void {
    this.#cancelGather ??= this.#app.clock.after(gatherMs, () => {
      this.#cancelGather = undefined
      void this.#orReport(() => this.#readChanged())
    })
  }

  async #readChanged(): Promise<void> {
    const ours = [...this.#ours.values()]
    const native = [...this.#native]
    // What is new may be a folder.
    if (this.#hasNewNotes) this.#watchNotes()
    const notes = this.#hasNewNotes ? noteSources(this.#app) : []
    this.#ours = new Map()
    this.#native = new Set()
    this.#hasNewNotes = false
    const since = this.#app.clock.now() - roundMs
    const moved = this.#moved.splice(0).map((session) => movedSources(this.#app, session, since))
    const found = await Promise.all([
      ...moved,
      ...ours.map((event) => this.#sourceOfOurs(event)),
      this.#changedCopies(),
    ])
    // A session that is gone again has no transcripts; the next round forgets them.
    const transcripts = native.length === 0 ? [] : await this.#app.discovery().transcripts(native)
    const sources = [...found.flat(), ...transcripts.map(nativeSource), ...notes]
    if (sources.length > 0 && !this.#isStopped) await this.#thread.read(sources, false)
  }

  /** What the shared database has that is new here; what is gone there is named too, so that the index forgets it. */
  async #changedCopies(): Promise<SearchSource[]> {
    const { copies } = this.#app
    if (!copies || !this.#mayHaveCopies) return []
    this.#mayHaveCopies = false
    // While it is away the next look tries again, and what else is new is read all the same.
    await this.#orReport(() => copies.catchUp().catch(unlessAway))
    const { changed, dropped, gone } = copies.takeChanges()
    if (gone.length > 0) await this.#onGone(gone.map(({ sessionId }) => sessionId))
    return sourcesOfSome(this.#app, [...changed, ...dropped])
  }

  async #sourceOfOurs({
    agentId,
    sessionId,
    file,
    key,
  }: Extract<RockpoolEvent, { type: 'transcript-appended' }>): Promise<SearchSource[]> {
    const entry = key === undefined ? undefined : await this.#app.sessions(agentId).peek(key)
    return [ourSource(agentId, file, sessionId, entry && { key: key!, entry })]
  }

  /** Every folder that notes are in; of one that is not there yet, the place where it will be. */
  #watchNotes(): void {
    for (const folder of watchedFolders(this.#app)) {
      let place = folder
      while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
      this.#watch(place, place === folder ? undefined : relative(place, folder).split(sep)[0])
    }
  }

  #watch(folder: string, only?: string): void {
    const place = only === undefined ? folder : join(folder, only, '.')
    // A listing that finishes after close() must not leave a watcher open.
    if (this.#isStopped || this.#watched.has(place)) return
    try {
      const watcher = watch(folder, (event, name) => {
        // A folder that was removed says nothing any more, also when it is there again.
        if (event === 'rename' && !existsSync(folder)) end()
        if (only !== undefined && name !== only) return
        this.#hasNewNotes = true
        this.#gather()
      })
      const end = (): void => {
        watcher.close()
        this.#watched.delete(place)
      }
      watcher.on('error', end)
      this.#watched.set(place, watcher)
    } catch {
      // Gone again, or no more watches: the round looks anyway.
    }
  }

  /** A failure of search is logged and does not affect anything else. */
  async #orReport(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#isStopped)
        this.#app.log.warn(
          { event: 'search-index-failed', error: String(error) },
          'Could not update the search index; retrying later.',
        )
    }
  }
}
