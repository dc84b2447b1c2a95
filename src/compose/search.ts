// Puts search together: the index, the files that it reads, and in the gateway the thread that keeps it up to date.
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import type {
  IndexProgress,
  SearchAnswer,
  SearchFilter,
  SearchKind,
  SearchPart,
  SearchQuestion,
  SearchStatus,
} from '../domain/search.ts'
import { AtMost } from '../domain/async.ts'
import { indexSources } from '../search/index-files.ts'
import { addSomePieces, addSomeTools, lackingTools } from '../search/index-tiers.ts'
import { parseQuery } from '../search/query.ts'
import { search } from '../search/ranked-search.ts'
import { searchRegexInThread } from '../search/search-threads.ts'
import { redactorOf } from '../search/worker-tasks.ts'
import type { App } from '../operations/app.ts'
import { TranscriptCopies } from '../store/postgres/transcript-copies.ts'
import { asDatabaseError } from '../store/sqlite/database-errors.ts'
import { removeDatabase } from '../store/sqlite/disposable-database.ts'
import { SearchIndex } from '../search/search-index.ts'
import { StoreAway } from '../store/store-unavailable.ts'
import { knownSecrets } from './known-secrets.ts'
import { SearchFollower } from './search-follower.ts'
import { SearchMeaning, worthTable } from './search-meaning.ts'
import { searchSources, sourcesOfOurs } from './search-sources.ts'
import type { SourceParts } from './search-sources.ts'

type Needs = SourceParts & Pick<App, 'clock' | 'events' | 'postgres' | 'memory'>

const regexMs = 3_000
/** A command that looks for a substring, or for what tools said, indexes that itself, for at most this long. */
const tierMs = 1_000
/** And gives new passages their vectors, for this long. */
const vectorsMs = 50
/** It asks for meaning when the words find less than this; with many vectors, which take long to load, when they find none. */
const fewFound = 10
const manyVectors = 50_000

export function openSearch(app: Needs, onProgress?: (progress: IndexProgress) => void): SearchPart {
  return new Search(app, onProgress)
}

class Search implements SearchPart {
  readonly #app: Needs
  readonly #onProgress: ((progress: IndexProgress) => void) | undefined
  readonly #secrets: Array<[string, string]>
  readonly #redact: (text: string) => string
  /** Each regular expression takes a thread and may use its whole time. */
  readonly #regexThreads = new AtMost(2, 30)
  #index: SearchIndex
  #renewing: Promise<void> | undefined
  readonly #meaning: SearchMeaning
  #follower: SearchFollower | undefined

  constructor(app: Needs, onProgress?: (progress: IndexProgress) => void) {
    this.#app = { ...app, ...copiesFor(app) }
    this.#onProgress = onProgress
    this.#secrets = knownSecrets(app)
    this.#redact = redactorOf(this.#secrets)
    this.#index = SearchIndex.open(app.paths.searchIndex)
    this.#meaning = new SearchMeaning(app, this.#redact)
  }

  async search(question: SearchQuestion): Promise<SearchAnswer> {
    await this.#present()
    try {
      return await this.#answer(question)
    } catch (error) {
      const { searchIndex } = this.#app.paths
      if (!isDamageOf(searchIndex, error)) throw error
      await this.#renew(() => removeDatabase(searchIndex))
      return this.#answer(question)
    }
  }

  /** The index may be thrown away while it is open; then there is a new one. */
  async #present(): Promise<void> {
    if (!this.#index.isPresent()) await this.#renew()
  }

  #renew(before?: () => void): Promise<void> {
    const exchange = async (): Promise<void> => {
      // Close first: closing a database removes its log file by name, which must not be the new database's log.
      await this.#index.close()
      before?.()
      this.#index = SearchIndex.open(this.#app.paths.searchIndex)
      this.#meaning.forgetVectors()
    }
    this.#renewing ??= (this.#follower?.during(exchange) ?? exchange()).finally(() => {
      this.#renewing = undefined
      this.#app.log.warn(
        { event: 'search-index-rebuilt' },
        'The search index is missing or damaged; rebuilding it.',
      )
    })
    return this.#renewing
  }

  #searchRegex(pattern: string, filter: Omit<SearchQuestion, 'text' | 'regex'>): Promise<SearchAnswer> {
    const indexFile = this.#app.paths.searchIndex
    const job = { job: 'regex', indexFile, secrets: this.#secrets, pattern, filter } as const
    return this.#regexThreads.run(() => searchRegexInThread(job, regexMs))
  }

  async #answer(question: SearchQuestion): Promise<SearchAnswer> {
    const late = this.#follower ? undefined : await this.#refreshed()
    const { text, regex, ...filter } = question
    if (!this.#follower && filter.role === 'tool') await this.#makeTools()
    const answer = await (regex ? this.#searchRegex(text, filter) : this.#searchText(text, filter))
    if (answer.total === 0 || filter.role === 'tool') answer.notes.push(...this.#notReadOfTools(filter))
    if (late !== undefined) answer.notes.push(late)
    const reading = this.#follower?.reading
    if (reading)
      answer.notes.push(`Still reading: ${reading.filesDone} of ${reading.files || 'all'} files are indexed.`)
    else if (answer.total === 0 && this.#index.isEmpty())
      answer.notes.push('There is nothing to search yet: no chat, no session of Claude Code, no note.')
    return answer
  }

  /** While the shared database is away there is still what was read before; the note says so. */
  async #refreshed(): Promise<string | undefined> {
    try {
      await this.refresh()
      return undefined
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
      return `Not up to date: ${error.message}`
    }
  }

  async #searchText(text: string, filter: Omit<SearchQuestion, 'text' | 'regex'>): Promise<SearchAnswer> {
    const now = (): number => this.#app.clock.now()
    const isHurried = this.#follower === undefined
    const enough = isHurried ? (this.#index.vectors.count() > manyVectors ? 1 : fewFound) : undefined
    const nearest = this.#meaning.nearestIn(this.#index)
    const parts = { index: this.#index, redact: this.#redact, now, nearest, enough }
    let answer = await search(parts, text, filter)
    const pieces = parseQuery(text)?.pieces
    const mayLack = isHurried && pieces && (answer.total === 0 || pieces.always)
    if (mayLack && (await this.#makePieces())) answer = await search(parts, text, filter)
    const mayBeTools = isHurried && answer.total === 0 && filter.role === undefined
    if (mayBeTools && (await this.#makeTools())) answer = await search(parts, text, filter)
    if (answer.total === 0 && pieces && this.#index.lacking.newest('pieces', 1).length > 0)
      answer.notes.push('Not all is indexed by parts of words yet; while the gateway runs, that is done.')
    const { lack } = this.#meaning
    if (lack) answer.notes.push(lack)
    return answer
  }

  /** In a command no thread does it; says whether there are more pieces than before. */
  async #makePieces(): Promise<boolean> {
    const until = this.#app.clock.monotonic() + tierMs
    let made = false
    while (this.#app.clock.monotonic() < until && (await addSomePieces(this.#index, this.#redact)))
      made = true
    return made
  }

  /** The same for what tools were asked and answered. */
  async #makeTools(): Promise<boolean> {
    const until = this.#app.clock.monotonic() + tierMs
    const files = lackingTools(this.#index)
    while (files[0] && this.#app.clock.monotonic() < until) {
      if (!(await addSomeTools(this.#index, files[0], this.#redact))) files.shift()
    }
    return files.length === 0 || this.#app.clock.monotonic() >= until
  }

  /** Nothing found must not be taken for nothing there. */
  #notReadOfTools({ role, source }: SearchFilter): string[] {
    const isAsked = (role === undefined || role === 'tool') && source !== 'memory'
    const left = isAsked ? lackingTools(this.#index).length : 0
    if (left === 0) return []
    return [`What tools said is not indexed yet in ${left} files; while the gateway runs, that is done.`]
  }

  async refresh(): Promise<IndexProgress> {
    if (this.#follower) return this.#follower.readAll()
    await this.#app.memory?.().refresh(this.#app.agentIds())
    const began = this.#app.clock.monotonic()
    const progress = await this.#readNew()
    // As long again as a long first reading took; a command that found nothing new does not make people wait.
    const tookMs = this.#app.clock.monotonic() - began
    const isMuch = progress.passages >= worthTable
    if (progress.passages > 0) await this.#meaning.makeVectors(this.#index, isMuch ? tookMs : vectorsMs)
    return progress
  }

  /** When no transcript of Claude's has changed since the last look, they are not even loaded. */
  async #readNew(): Promise<IndexProgress> {
    const options = { redact: this.#redact, onProgress: this.#onProgress }
    const look = await this.#app.discovery().look()
    if (this.#index.isSettled(look.stamp)) {
      const kinds: SearchKind[] = ['rockpool', 'memory']
      return indexSources(this.#index, await sourcesOfOurs(this.#app), { ...options, kinds })
    }
    const sources = await searchSources(this.#app, look.transcripts())
    const progress = await indexSources(this.#index, sources, options)
    await this.#index.settle(look.stamp)
    return progress
  }

  async rebuild(): Promise<IndexProgress> {
    await this.#present()
    await this.#index.clear()
    await this.#app.copies?.clear()
    this.#meaning.forgetVectors()
    return this.refresh()
  }

  async follow(): Promise<() => Promise<void>> {
    const thread = {
      job: 'index' as const,
      indexFile: this.#app.paths.searchIndex,
      secrets: this.#secrets,
      meaning: this.#meaning.settings,
    }
    const follower = new SearchFollower(this.#app, thread, (sessionIds) => this.#purgeIndex(sessionIds))
    this.#follower = follower
    follower.start()
    const stopWatching = watchFor(this.#app.paths.searchIndex, () => {
      // The next search reports what fails here.
      this.#present().catch(() => {})
    })
    return async () => {
      stopWatching()
      await follower.stop()
      this.#follower = undefined
    }
  }

  async purge(sessionIds: string[]): Promise<void> {
    await this.#app.copies?.catchUp()
    await this.#purgeIndex(sessionIds)
  }

  #purgeIndex(sessionIds: string[]): Promise<void> {
    this.#meaning.forgetVectors()
    return this.#index.purge(sessionIds)
  }

  async status(): Promise<SearchStatus> {
    await this.#present()
    const { model, lack } = this.#meaning
    return {
      ...this.#index.counts(),
      withoutTools: lackingTools(this.#index).length,
      reading: this.#follower?.reading,
      meaning: model,
      lack,
    }
  }

  async close(): Promise<void> {
    this.#meaning.close()
    await this.#follower?.stop()
    await this.#app.copies?.close()
    await this.#index.close()
  }
}

function isDamageOf(path: string, error: unknown): boolean {
  const known = asDatabaseError(error, path)
  return known instanceof RockpoolError && known.code === 'damaged' && known.message.startsWith(path)
}

/** Says when the file is made or removed. */
function watchFor(path: string, act: () => void): () => void {
  try {
    const watcher = watch(dirname(path), (_event, name) => {
      if (name === basename(path)) act()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // No more watches: the next search looks anyway.
    return () => {}
  }
}

function copiesFor({ postgres, paths, clock }: Needs): { copies?: TranscriptCopies } {
  return postgres ? { copies: new TranscriptCopies(postgres, paths.transcriptCopies, clock) } : {}
}
