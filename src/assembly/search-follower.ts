// Keeps the search index up to date while the gateway runs.
import { existsSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { RockpoolEvent } from '../domain/events.ts'
import type { IndexProgress, SearchSource } from '../domain/search.ts'
import { IndexThread } from '../memory/search-thread.ts'
import type { App } from '../operations/app.ts'
import {
  movedSources,
  nativeSource,
  noteSources,
  ourSource,
  searchSources,
  watchedFolders,
} from './search-sources.ts'
import type { SourceParts } from './search-sources.ts'

type Needs = SourceParts & Pick<App, 'clock' | 'events'>

/** Messages come in bursts; this much later they are indexed together. */
const gatherMs = 100
/** Everything is looked at again this often, for what no event tells: notes, deletions, other processes. */
const roundMs = 300_000

/** Hears what was said and hands it to the thread that indexes. */
export class SearchFollower {
  readonly #app: Needs
  readonly #thread: IndexThread
  /** Transcripts of ours that grew: the file, and what the event says about it. */
  #ours = new Map<string, Extract<RockpoolEvent, { type: 'transcript-appended' }>>()
  #native = new Set<string>()
  /** Sessions whose transcript was set aside or brought back. */
  #moved: Array<{ agentId: string; key: string }> = []
  #hasNewNotes = false
  #cancels: Array<() => void> = []
  #cancelGather: (() => void) | undefined
  #watched = new Map<string, FSWatcher>()
  #isStopped = false
  /** How far the first look at everything is. */
  reading: IndexProgress | undefined

  constructor(app: Needs, job: ConstructorParameters<typeof IndexThread>[0]) {
    this.#app = app
    this.#thread = new IndexThread(
      job,
      (progress) => {
        if (this.reading) this.reading = progress
      },
      (message) => app.log.warn({}, message),
    )
  }

  start(): void {
    this.#cancels.push(this.#app.events.on((event) => this.#hear(event)))
    void this.#round()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const cancel of this.#cancels.splice(0)) cancel()
    this.#cancelGather?.()
    for (const watcher of this.#watched.values()) watcher.close()
    await this.#thread.stop()
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

  #hear(event: RockpoolEvent): void {
    if (event.type === 'transcript-appended') this.#ours.set(event.file, event)
    else if (event.type === 'native-changed') this.#native.add(event.sessionId)
    else if (event.type === 'session-changed' && /^(reset:|restored$)/.test(event.why))
      this.#moved.push(event)
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
    const found = await Promise.all([...moved, ...ours.map((event) => this.#sourceOfOurs(event))])
    // A session that is gone again has no transcripts; the next round forgets them.
    const transcripts = native.length === 0 ? [] : await this.#app.discovery().transcripts(native)
    const sources = [...found.flat(), ...transcripts.map(nativeSource), ...notes]
    if (sources.length > 0 && !this.#isStopped) await this.#thread.read(sources, false)
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
    if (this.#watched.has(place)) return
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

  /** Search is a convenience: when it fails the rest goes on, and the log says so. */
  async #orReport(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#isStopped)
        this.#app.log.warn({ error: String(error) }, 'The search index could not be updated.')
    }
  }
}
