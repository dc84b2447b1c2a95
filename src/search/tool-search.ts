// Adds to an answer of the index the matches in tool texts for which the index has no room. A thread reads these texts from the
// transcripts, if the question is about tools, or if the index does not have its words.
import type { Clock } from '../domain/clock.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import type { SearchAnswer, SearchFilter, SearchHit } from '../domain/search.ts'
import { isOnlyNear, onlyNearNote, type RankedAnswer } from './ranked-search.ts'
import type { SearchIndex } from './search-index.ts'
import type { SearchThreads } from './search-threads.ts'
import type { ToolFinding, ToolQuestion } from './unindexed-tools.ts'

/** The texts of a question; with `isRegex` it is a regular expression. */
interface Wanted {
  text: string
  isRegex: boolean
}

export class ToolSearch {
  readonly #threads: SearchThreads
  readonly #clock: Clock
  /** For one search, by words. */
  readonly #limitMs: number

  constructor(threads: SearchThreads, clock: Clock, limitMs: number) {
    this.#threads = threads
    this.#clock = clock
    this.#limitMs = limitMs
  }

  /** A search; its time begins now. */
  begin(index: SearchIndex, filter: SearchFilter): ToolLookup {
    const untilMs = this.#clock.monotonic() + this.#limitMs
    // Sessions that name a file may have taken the time: a search for words gets some of it in any case.
    const left = (): number => Math.max(leastPart * this.#limitMs, untilMs - this.#clock.monotonic())
    return new ToolLookup(this.#threads, index, filter, left)
  }
}

/** Of the time of a search. */
const leastPart = 0.25

class ToolLookup {
  /** The filter, with the sessions that name the file. */
  filter: SearchFilter
  readonly #threads: SearchThreads
  readonly #index: SearchIndex
  readonly #leftMs: () => number
  #backTo: number | undefined
  #problem: string | undefined

  constructor(threads: SearchThreads, index: SearchIndex, filter: SearchFilter, leftMs: () => number) {
    this.#threads = threads
    this.#index = index
    this.filter = filter
    this.#leftMs = leftMs
  }

  /** With a filter for a file: finds the sessions whose tool texts name it. */
  async findFileSessions(): Promise<void> {
    const { file, ...filter } = this.filter
    if (file === undefined || !this.#index.lacksTools(filter)) return
    const found = await this.#ask({ find: 'sessions', file, filter, limitMs: this.#leftMs() })
    this.filter = { ...this.filter, fileSessions: found.sessionIds }
  }

  async addTo(answer: RankedAnswer, { text, isRegex }: Wanted, now: number): Promise<SearchAnswer> {
    const { lack, ...found } = answer
    const { filter } = this
    const limit = filter.limit ?? 20
    const isWanted = asksForTools(filter) || lack === 'all' || lack === 'some'
    if (isWanted && this.#mayFind()) {
      const more = isRegex
        ? await this.#matches(text, found.hits.length < limit)
        : (await this.#ask({ find: 'words', text, filter, now, limitMs: this.#leftMs() })).answer
      if (more) addHits(found, more, lack !== undefined, limit, filter.withCopies)
    } else if (lack === 'most' && this.#mayFind()) {
      found.notes.push('Not all tool inputs and results were searched; --role tool searches them.')
    }
    return { ...found, notes: [...found.notes, ...this.#notes()] }
  }

  #mayFind(): boolean {
    const { role, source, withoutTools } = this.filter
    const isAllowed = (role === undefined || role === 'tool') && source !== 'memory' && !withoutTools
    return isAllowed && this.#index.lacksTools(this.filter)
  }

  /** The newest matches are enough. */
  async #matches(pattern: string, hasRoom: boolean): Promise<SearchAnswer | undefined> {
    if (!hasRoom) return undefined
    const found = await this.#threads.matches(pattern, this.filter, true)
    this.#backTo = found.backTo
    return found
  }

  async #ask(question: ToolQuestion): Promise<ToolFinding> {
    try {
      const found = await this.#threads.inTools(question)
      this.#backTo = found?.backTo ?? this.#backTo
      if (!found) this.#problem = 'it took too long'
      return found ?? {}
    } catch (error) {
      if (!(error instanceof RockpoolError && error.code === 'busy')) throw error
      this.#problem = errorText(error)
      return {}
    }
  }

  #notes(): string[] {
    if (this.#problem !== undefined)
      return [`Tool inputs and results that are not indexed were not searched: ${this.#problem}.`]
    if (this.#backTo === undefined) return []
    return [
      `Looked through tool inputs and results back to ${dayOf(this.#backTo)}; add --since or --repo to narrow the search.`,
    ]
  }
}

function asksForTools({ role, tool, file }: SearchFilter): boolean {
  return role === 'tool' || tool !== undefined || file !== undefined
}

function dayOf(time: number): string {
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }).format(time)
}

/** Tool texts come after what has the words, and before what only resembles the question. If the index lacks words of the question, those
 *  with more of them come first. */
function addHits(
  answer: SearchAnswer,
  more: SearchAnswer,
  lacksWords: boolean,
  limit: number,
  withCopies = false,
): void {
  const near = answer.hits.filter(isOnlyNear)
  const worded = answer.hits.filter((hit) => !isOnlyNear(hit))
  const shown = new Set(worded.map(({ snippet }) => snippet))
  const isNew = ({ snippet }: SearchHit): boolean => withCopies || !shown.has(snippet)
  const added = more.hits.filter(isNew)
  const tools = lacksWords ? added : below(worded, added)
  const first = [...worded, ...tools].sort((a, b) => b.score - a.score)
  if (tools.length > 0) {
    // They have the words.
    answer.notes = answer.notes.filter((note) => note !== onlyNearNote)
    answer.suggestion = undefined
  }
  answer.hits = [...first, ...below(first, near)].slice(0, limit)
  answer.total += more.total - (more.hits.length - added.length)
  answer.isEstimated = answer.isEstimated || more.isEstimated
}

/** With scores below all of these, in the same order. */
function below(better: SearchHit[], hits: SearchHit[]): SearchHit[] {
  const least = Math.min(...better.map(({ score }) => score))
  const best = Math.max(...hits.map(({ score }) => score))
  if (best < least) return hits
  return hits.map((hit) => ({ ...hit, score: (hit.score / best) * least * 0.99 }))
}
