// Search over everything that was said and noted: the index, the sources that it reads, and in the gateway the thread that
// keeps the index up to date. compose/open-search.ts constructs it.
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type {
  IndexProgress,
  SearchAnswer,
  SearchFilter,
  SearchPart,
  SearchQuestion,
  SearchStatus,
  SearchKind,
} from '../domain/search.ts'
import { asDatabaseError } from '../store/sqlite/database-errors.ts'
import { removeDatabase } from '../store/sqlite/database.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import { indexSources } from './index-files.ts'
import { addSomePieces } from './index-tiers.ts'
import { meaningSettings, SearchMeaning } from './meaning.ts'
import { redactorOf } from './passages.ts'
import { parseQuery } from './query.ts'
import { search, type RankedAnswer } from './ranked-search.ts'
import { SearchFollower } from './search-follower.ts'
import { SearchIndex } from './search-index.ts'
import { ourSources, searchSources, type SourceParts } from './search-sources.ts'
import { BriefRegexSearch } from './regex-search.ts'
import { checkPattern, SearchThreads } from './search-threads.ts'
import { ToolSearch } from './tool-search.ts'
import { isFull, ToolTexts, type IndexLimit } from './tool-texts.ts'

interface SearchParts {
  indexFile: string
  sources: SourceParts
  meaning: Config['memory']['meaning']
  limit: IndexLimit
  /** Values that are known to be secret, by name. */
  secrets: Array<[name: string, value: string]>
  clock: Clock
  log: Log
  events: Events
  /** Receives the progress of a long first reading. */
  onProgress?: (progress: IndexProgress) => void
}

const regexMs = 3_000
/** How long tool texts that are not indexed are searched for words. */
const toolsMs = 2_000
/** Without a gateway, a search for substrings or tool texts indexes them itself, for at most this long. */
const tierMs = 1_000
/** And computes the vectors of new passages, for at most this long. */
const vectorsMs = 50
/** After a reading of this many passages a command may take as long again for their vectors. */
const longReading = 1_000

export class Search implements SearchPart {
  readonly #parts: SearchParts
  readonly #redact: (text: string) => string
  readonly #briefRegex = new BriefRegexSearch()
  readonly #threads: SearchThreads
  readonly #tools: ToolSearch
  readonly #meaning: SearchMeaning
  #index: SearchIndex
  #replacing: Promise<void> | undefined
  /** Only in the gateway. A command brings the index up to date before each search. */
  #follower: SearchFollower | undefined

  constructor(parts: SearchParts) {
    const { indexFile, meaning, secrets, clock } = parts
    this.#parts = parts
    this.#redact = redactorOf(secrets)
    this.#index = SearchIndex.open(indexFile)
    this.#threads = new SearchThreads({ indexFile, secrets }, regexMs)
    this.#tools = new ToolSearch(this.#threads, clock, toolsMs)
    this.#meaning = new SearchMeaning(meaningSettings(meaning), clock, this.#redact)
  }

  async search(question: SearchQuestion): Promise<SearchAnswer> {
    await this.#reopenIfRemoved()
    try {
      return await this.#answer(question)
    } catch (error) {
      const { indexFile } = this.#parts
      if (!isDamageOf(indexFile, error)) throw error
      await this.#replaceIndex(() => removeDatabase(indexFile))
      return this.#answer(question)
    }
  }

  /** The index file may be deleted at any time; then a new one is built. */
  async #reopenIfRemoved(): Promise<void> {
    if (!this.#index.isPresent()) await this.#replaceIndex()
  }

  #replaceIndex(removeOld?: () => void): Promise<void> {
    const replace = async (): Promise<void> => {
      // Close first: closing a database removes its log file by name, which must not be the new database's log.
      await this.#threads.endIdle()
      await this.#index.close()
      removeOld?.()
      this.#index = SearchIndex.open(this.#parts.indexFile)
      this.#meaning.forgetVectors()
    }
    this.#replacing ??= (this.#follower?.pauseWhile(replace) ?? replace()).finally(() => {
      this.#replacing = undefined
      this.#parts.log.warn(
        { event: 'search-index-rebuilt' },
        'The search index is missing or damaged; rebuilding it.',
      )
    })
    return this.#replacing
  }

  async #answer({ text, regex, asIndexed, ...filter }: SearchQuestion): Promise<SearchAnswer> {
    const outdated = this.#follower || asIndexed ? undefined : await this.#refreshOrNote()
    if (!this.#follower && filter.role === 'tool') await this.#indexTools()
    const answer = asIndexed ? await this.#indexed(text, filter, regex) : await this.#all(text, filter, regex)
    if (outdated !== undefined) answer.notes.push(outdated)
    const reading = this.#follower?.reading
    if (reading)
      answer.notes.push(`Still reading: ${reading.filesDone} of ${reading.files || 'all'} files are indexed.`)
    else if (answer.total === 0 && this.#index.isEmpty())
      answer.notes.push('There is nothing to search yet: no chat, no session of Claude Code, no note.')
    return answer
  }

  /** The hits of the index, and the matches in tool texts that are not indexed. */
  async #all(text: string, filter: SearchFilter, isRegex = false): Promise<SearchAnswer> {
    const tools = this.#tools.begin(this.#index, filter)
    await tools.findFileSessions()
    const answer = await this.#indexed(text, tools.filter, isRegex)
    return tools.addTo(answer, { text, isRegex }, this.#parts.clock.now())
  }

  #indexed(text: string, filter: SearchFilter, isRegex = false): Promise<RankedAnswer> {
    return isRegex ? this.#searchRegex(text, filter) : this.#searchText(text, filter)
  }

  /** If the shared database is unavailable, the search uses what was read before; the returned note says so. */
  async #refreshOrNote(): Promise<string | undefined> {
    try {
      await this.refresh()
      return undefined
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return `Not up to date: ${error.message}`
    }
  }

  async #searchRegex(pattern: string, filter: SearchFilter): Promise<RankedAnswer> {
    checkPattern(pattern)
    const brief = this.#briefRegex.search(this.#index, { pattern, filter }, this.#redact)
    const answer = brief ?? (await this.#threads.matches(pattern, filter))
    return { ...answer, lack: answer.total === 0 ? 'all' : undefined }
  }

  async #searchText(text: string, filter: SearchFilter): Promise<RankedAnswer> {
    const isCommand = this.#follower === undefined
    const nearest = this.#meaning.nearestIn(this.#index)
    const now = (): number => this.#parts.clock.now()
    const parts = { index: this.#index, redact: this.#redact, now, nearest }
    let answer = await search(parts, text, filter)
    const pieces = parseQuery(text)?.pieces
    const mayLackPieces = isCommand && pieces && (answer.total === 0 || pieces.always)
    if (mayLackPieces && (await this.#indexPieces())) answer = await search(parts, text, filter)
    const mayLackTools = isCommand && answer.total === 0 && filter.role === undefined
    if (mayLackTools && (await this.#indexTools())) answer = await search(parts, text, filter)
    if (answer.total === 0 && pieces && this.#index.backlog.newest('pieces', 1).length > 0)
      answer.notes.push(
        'Parts of words are not indexed everywhere yet; the gateway indexes them while it runs.',
      )
    return answer
  }

  /** Indexes substrings for a limited time; true if any were added. */
  async #indexPieces(): Promise<boolean> {
    const until = this.#parts.clock.monotonic() + tierMs
    let added = false
    while (this.#parts.clock.monotonic() < until && (await addSomePieces(this.#index, this.#redact)))
      added = true
    return added
  }

  /** Indexes tool inputs and results for a limited time; true if any were added. */
  async #indexTools(): Promise<boolean> {
    const until = this.#parts.clock.monotonic() + tierMs
    const tools = new ToolTexts(this.#index, this.#redact, this.#parts.limit)
    tools.reload()
    let added = false
    while (this.#parts.clock.monotonic() < until && (await tools.addSome())) added = true
    return added
  }

  async refresh(): Promise<IndexProgress> {
    if (this.#follower) return this.#follower.readAll()
    await this.#parts.sources.refreshNotes()
    const began = this.#parts.clock.monotonic()
    const progress = await this.#readNew()
    // After a long first reading, vectors may take as long again; after a short one, people do not wait for them.
    const tookMs = this.#parts.clock.monotonic() - began
    const isMuch = progress.passages >= longReading
    if (progress.passages > 0) await this.#meaning.makeVectors(this.#index, isMuch ? tookMs : vectorsMs)
    return progress
  }

  /** If no transcript of Claude's has changed since the last reading, discovery is not even asked to load them. */
  async #readNew(): Promise<IndexProgress> {
    const { sources, onProgress } = this.#parts
    const options = { redact: this.#redact, onProgress }
    const snapshot = await sources.discovery().snapshot()
    if (this.#index.isUpToDate(snapshot.stamp)) {
      const kinds: SearchKind[] = ['rockpool', 'memory']
      return indexSources(this.#index, await ourSources(sources), { ...options, kinds })
    }
    const all = await searchSources(sources, snapshot.transcripts())
    const progress = await indexSources(this.#index, all, options)
    await this.#index.markUpToDate(snapshot.stamp)
    return progress
  }

  async rebuild(): Promise<IndexProgress> {
    await this.#reopenIfRemoved()
    await this.#index.clear()
    await this.#parts.sources.copies?.clear()
    this.#meaning.forgetVectors()
    return this.refresh()
  }

  async follow(): Promise<() => Promise<void>> {
    const { sources, clock, events, indexFile, secrets, limit } = this.#parts
    const follower = new SearchFollower(
      { sources, clock, events, onDeleted: (sessionIds) => this.#purgeIndex(sessionIds) },
      { job: 'index', indexFile, secrets, meaning: this.#meaning.settings, limit },
    )
    this.#follower = follower
    follower.start()
    const stopWatching = watchFile(indexFile, () => {
      // The next search reports what fails here.
      this.#reopenIfRemoved().catch(() => {})
    })
    return async () => {
      stopWatching()
      await follower.stop()
      this.#follower = undefined
    }
  }

  async purge(sessionIds: string[]): Promise<void> {
    await this.#parts.sources.copies?.catchUp()
    await this.#purgeIndex(sessionIds)
  }

  #purgeIndex(sessionIds: string[]): Promise<void> {
    this.#meaning.forgetVectors()
    return this.#index.purge(sessionIds)
  }

  async status(): Promise<SearchStatus> {
    await this.#reopenIfRemoved()
    const { model, lack } = this.#meaning
    return {
      ...this.#index.counts(),
      withoutTools: this.#index.withoutTools().length,
      isFull: isFull(this.#index, this.#parts.limit),
      reading: this.#follower?.reading,
      meaning: model,
      lack,
    }
  }

  async close(): Promise<void> {
    this.#meaning.close()
    await this.#follower?.stop()
    await this.#threads.endIdle()
    await this.#parts.sources.copies?.close()
    await this.#index.close()
  }
}

function isDamageOf(path: string, error: unknown): boolean {
  const known = asDatabaseError(error, path)
  return known instanceof RockpoolError && known.code === 'damaged' && known.message.startsWith(path)
}

/** Calls `onChange` when the file is created or removed. */
function watchFile(path: string, onChange: () => void): () => void {
  try {
    const watcher = watch(dirname(path), (_event, name) => {
      if (name === basename(path)) onChange()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // The system has no more watches: the next search checks the file anyway.
    return () => {}
  }
}
