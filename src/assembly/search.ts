// Puts search together: the index, the files that it reads, and in the gateway the thread that keeps it up to date.
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import type { RockpoolEvent } from '../domain/events.ts'
import type {
  IndexProgress,
  SearchAnswer,
  SearchPart,
  SearchQuestion,
  SearchSource,
  SearchStatus,
} from '../domain/search.ts'
import { indexSources } from '../memory/index-files.ts'
import { addSomePieces } from '../memory/index-tiers.ts'
import { parseQuery } from '../memory/query.ts'
import { search } from '../memory/search.ts'
import { IndexThread, searchRegexInThread } from '../memory/search-thread.ts'
import { redactorOf } from '../memory/thread-work.ts'
import type { App } from '../operations/app.ts'
import { SearchIndex } from '../store/search-index.ts'
import { knownSecrets } from './known-secrets.ts'
import { noteFolders, noteSources, ourSource, searchSources, sourcesOfNative } from './search-sources.ts'
import type { SourceParts } from './search-sources.ts'

type Needs = SourceParts & Pick<App, 'clock' | 'events'>

/** Messages come in bursts; this much later they are indexed together. */
const gatherMs = 100
/** Everything is looked at again this often, for what no event tells: notes, deletions, other processes. */
const roundMs = 60_000
const regexMs = 3_000
/** A command that looks for a substring makes the index of substrings itself, for at most this long. */
const piecesMs = 2_000

export function openSearch(app: Needs, onProgress?: (progress: IndexProgress) => void): SearchPart {
  return new Search(app, onProgress)
}

class Search implements SearchPart {
  readonly #app: Needs
  readonly #onProgress: ((progress: IndexProgress) => void) | undefined
  readonly #secrets: Array<[string, string]>
  readonly #redact: (text: string) => string
  readonly #index: SearchIndex
  #follower: Follower | undefined

  constructor(app: Needs, onProgress?: (progress: IndexProgress) => void) {
    this.#app = app
    this.#onProgress = onProgress
    this.#secrets = knownSecrets(app)
    this.#redact = redactorOf(this.#secrets)
    this.#index = SearchIndex.open(app.paths.searchIndex)
  }

  async search(question: SearchQuestion): Promise<SearchAnswer> {
    if (!this.#follower) await this.refresh()
    const { text, regex, ...filter } = question
    const answer = regex
      ? await searchRegexInThread(
          {
            job: 'regex',
            indexFile: this.#app.paths.searchIndex,
            secrets: this.#secrets,
            pattern: text,
            filter,
          },
          regexMs,
        )
      : await this.#searchText(text, filter)
    const { reading } = this.status()
    if (reading)
      answer.notes.push(`Still reading: ${reading.filesDone} of ${reading.files} files are indexed.`)
    return answer
  }

  async #searchText(text: string, filter: Omit<SearchQuestion, 'text' | 'regex'>): Promise<SearchAnswer> {
    const parts = { index: this.#index, redact: this.#redact, now: () => this.#app.clock.now() }
    const answer = await search(parts, text, filter)
    const pieces = parseQuery(text)?.pieces
    if (this.#follower || !pieces || (answer.total > 0 && !pieces.always)) return answer
    return (await this.#makePieces()) ? search(parts, text, filter) : answer
  }

  /** In a command no thread does it; says whether there are more pieces than before. */
  async #makePieces(): Promise<boolean> {
    const until = this.#app.clock.monotonic() + piecesMs
    let made = false
    while (this.#app.clock.monotonic() < until && (await addSomePieces(this.#index, this.#redact)))
      made = true
    return made
  }

  async refresh(): Promise<IndexProgress> {
    if (this.#follower) return this.#follower.readAll()
    const options = { redact: this.#redact, onProgress: this.#onProgress }
    return indexSources(this.#index, await searchSources(this.#app), options)
  }

  async follow(): Promise<() => Promise<void>> {
    const thread = {
      job: 'index' as const,
      indexFile: this.#app.paths.searchIndex,
      secrets: this.#secrets,
      meaning: { kind: 'none' as const },
    }
    const follower = new Follower(this.#app, thread)
    this.#follower = follower
    follower.start()
    return async () => {
      await follower.stop()
      this.#follower = undefined
    }
  }

  status(): SearchStatus {
    return { ...this.#index.counts(), reading: this.#follower?.reading }
  }

  async close(): Promise<void> {
    await this.#follower?.stop()
    await this.#index.close()
  }
}

/** Hears what was said and hands it to the thread that indexes. */
class Follower {
  readonly #app: Needs
  readonly #thread: IndexThread
  /** Transcripts of ours that grew: the file, and what the event says about it. */
  #ours = new Map<string, Extract<RockpoolEvent, { type: 'transcript-appended' }>>()
  #native = new Set<string>()
  #hasNewNotes = false
  #cancels: Array<() => void> = []
  #cancelGather: (() => void) | undefined
  #watched = new Map<string, FSWatcher>()
  #isStopped = false
  /** How far the first look at everything is. */
  reading: IndexProgress | undefined

  constructor(app: Needs, job: ConstructorParameters<typeof IndexThread>[0]) {
    this.#app = app
    this.#thread = new IndexThread(job, (progress) => {
      if (this.reading) this.reading = progress
    })
  }

  start(): void {
    this.reading = { files: 0, filesDone: 0, bytesRead: 0, passages: 0 }
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

  async readAll(): Promise<IndexProgress> {
    return this.#thread.read(await searchSources(this.#app), true)
  }

  async #round(): Promise<void> {
    this.#watchNotes()
    await this.#orReport(() => this.readAll())
    this.reading = undefined
    if (!this.#isStopped) this.#cancels.push(this.#app.clock.after(roundMs, () => void this.#round()))
  }

  #hear(event: RockpoolEvent): void {
    if (event.type === 'transcript-appended') this.#ours.set(event.file, event)
    else if (event.type === 'native-changed') this.#native.add(event.sessionId)
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
    const notes = this.#hasNewNotes ? noteSources(this.#app) : []
    this.#ours = new Map()
    this.#native = new Set()
    this.#hasNewNotes = false
    const found = await Promise.all([
      ...ours.map((event) => this.#sourceOfOurs(event)),
      ...native.map((sessionId) => this.#sourcesOfNative(sessionId)),
    ])
    const sources = [...found.flat(), ...notes]
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

  async #sourcesOfNative(sessionId: string): Promise<SearchSource[]> {
    try {
      return sourcesOfNative(await this.#app.discovery().get(sessionId))
    } catch {
      // It is gone again; the next round forgets its file.
      return []
    }
  }

  #watchNotes(): void {
    for (const folder of noteFolders(this.#app).keys()) {
      if (this.#watched.has(folder)) continue
      try {
        const watcher = watch(folder, () => {
          this.#hasNewNotes = true
          this.#gather()
        })
        watcher.on('error', () => watcher.close())
        this.#watched.set(folder, watcher)
      } catch {
        // Not there yet, or no more watches: the round looks anyway.
      }
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
