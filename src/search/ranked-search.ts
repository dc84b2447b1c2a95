// Ranks what was found. A passage counts by the share of the question's words that it has, rare words counting more; a session
// by its three best passages together and by the words that it has anywhere. Passages that only resemble the question in
// meaning follow, and are searched for when no passage has most of the words.
import { basename } from 'node:path'
import type { SearchAnswer, SearchFilter, SearchHit, SearchSource } from '../domain/search.ts'
import { errorText } from '../domain/errors.ts'
import { fold, placeOf, withoutCopies } from './hits.ts'
import type { FoundPassage } from './index-rows.ts'
import { readPassage } from './passages.ts'
import { toHits, type Ranked } from './ranked-hits.ts'
import { maxTerms, parseQuery, splitIdentifier, type ParsedQuery, type QueryTerm } from './query.ts'
import type { SearchIndex } from './search-index.ts'
import { shareIn } from './search-match.ts'
import { nearnessInTime, timeRangeIn, timesNamedIn, type NamedTime } from './times.ts'

export interface SearchParts {
  index: SearchIndex
  redact: (text: string) => string
  now: () => number
  /** The passages nearest to the query in meaning, the best first; absent without a model. */
  nearest?: (text: string, filter: SearchFilter) => Promise<NearPassage[]>
}

export interface NearPassage {
  id: number
  /** Above 0 for those that are nearer than most; at most 1. */
  likeness: number
}

export const onlyNearNote = 'No message has these words; these are the nearest in meaning.'
/** At most this many passages are ranked. */
const candidates = 200
/** A passage with a small share of the words says less than that share: shares are squared. */
const sharpness = 2
/** What the second and the third best passage of a session, and all words that it has anywhere, add to its best passage. */
const sessionWeights = { second: 0.5, third: 0.25, coverage: 0.5 }
/** Only the two best passages of a session rank with it; more would leave no room for other sessions. */
const shownOfSession = 2
/** The most that a time in the question adds. */
const timeWeight = 0.2
const piecesWeight = 0.5
/** What meaning adds at most, and how much more if the passages have few of the words: then words say little. */
const meaningWeight = { least: 0.5, more: 6 }
/** Below this share of the words, the passages have few of them. */
const manyOfWords = 0.6
/** Meaning is not searched if a passage has this share of the words. */
const mostOfWords = 0.8
/** More than everything else adds up to: what has all the words of a few comes first. */
const allWordsBonus = 4
/** Tool texts rank after what people and agents said. */
const toolWeight = 0.6

export interface RankedAnswer extends SearchAnswer {
  /** How much of the question the passages have: none of its words; of keywords, not all, not even together; of a sentence, none
   *  has most of the words. */
  lack?: 'all' | 'some' | 'most'
}

export async function search(parts: SearchParts, text: string, filter: SearchFilter): Promise<RankedAnswer> {
  const range = timeRangeIn(text, parts.now())
  if (range) {
    const { rest, since, until } = range
    const then = await searchAll(parts, rest, {
      ...filter,
      since: Math.max(since, filter.since ?? 0),
      until: Math.min(until, filter.until ?? Infinity),
    })
    if (then.total > 0) return then
  }
  const answer = await searchAll(parts, text, filter)
  if (range && answer.total > 0)
    answer.notes.push('Nothing was found in the time that you named; this is from any time.')
  return answer
}

async function searchAll(parts: SearchParts, text: string, filter: SearchFilter): Promise<RankedAnswer> {
  const query = parseQuery(text)
  if (!query) return { total: 0, hits: [], notes: ['The query has no word to search for.'] }
  const notes: string[] = []
  const ranking = new Ranking(parts, query, text, filter)
  ranking.addWords()
  ranking.addPieces()
  if (parts.nearest && ranking.bestShare < mostOfWords) {
    try {
      ranking.addNear(await parts.nearest(text, filter))
    } catch (error) {
      // The embedding provider is unavailable; results by words are still valid.
      notes.push(`By word only: ${errorText(error)}`)
    }
  }
  const best = ranking.best()
  const { hits, total, isEstimated } = toHits(best, query, filter, parts.redact)
  const isByMeaning = hits.every(isOnlyNear)
  if (hits.length > 0 && isByMeaning) notes.push(onlyNearNote)
  if (query.isCut) notes.push(`Only the first ${maxTerms} words were searched for.`)
  const isPartOfWords = hits.some(({ by }) => by.includes('pieces'))
  const mayBeWrong = query.isKeywords && !isPartOfWords ? ranking.termsNotFound() : []
  const suggestion = suggestionFor(parts, text, mayBeWrong, filter)
  const isPartial = mayBeWrong.length > 0 ? 'some' : ranking.bestShare < mostOfWords ? 'most' : undefined
  const hasNone = total === 0 || (ranking.bestShare === 0 && !isPartOfWords)
  const lack = hasNone ? 'all' : isPartOfWords ? undefined : isPartial
  return { total, isEstimated, hits, notes, suggestion, lack }
}

/** True for a hit that has none of the words. */
export function isOnlyNear({ by }: SearchHit): boolean {
  return by.every((way) => way === 'meaning')
}

/** The corrected question: a word that occurs in the texts replaces a word that does not. */
function suggestionFor(
  { index, redact }: SearchParts,
  text: string,
  notFound: string[],
  filter: SearchFilter,
): string | undefined {
  const textOf = (passage: FoundPassage): string => redact(readPassage(placeOf(passage))?.text ?? '')
  for (const word of notFound) {
    const near = index.nearWord(word, filter, textOf)
    const at = text.toLowerCase().indexOf(word)
    if (near !== undefined && at >= 0) return text.slice(0, at) + near + text.slice(at + word.length)
  }
  return undefined
}

class Ranking {
  /** The largest share of the words that a passage has. */
  bestShare = 0
  readonly #parts: SearchParts
  readonly #query: ParsedQuery
  readonly #filter: SearchFilter
  readonly #found = new Map<number, Ranked>()
  readonly #times: NamedTime[]
  #shares: number[] = []

  constructor(parts: SearchParts, query: ParsedQuery, text: string, filter: SearchFilter) {
    this.#parts = parts
    this.#query = query
    this.#filter = filter
    this.#times = timesNamedIn(text)
  }

  addWords(): void {
    const { terms, isKeywords } = this.#query
    const expressions = terms.map(({ expression }) => expression)
    const { passages, masks, brevity, shares } = this.#parts.index.matchWords(expressions, this.#filter)
    this.#shares = shares
    const placeMasks = new Map<string, number>()
    passages.forEach((passage, at) => {
      const place = placeNamesOf(passage.source)
      const key = place.join('\n')
      if (!placeMasks.has(key)) placeMasks.set(key, maskOfPlace(place, this.#query))
      const mask = masks[at]! | placeMasks.get(key)!
      const share = shareIn(mask, shares)
      this.bestShare = Math.max(this.bestShare, share)
      const entry = this.#add(passage, (share * brevity[at]!) ** sharpness, 'words')
      entry.mask = mask
      entry.hasAll = isKeywords && terms.length > 1 && mask === 2 ** terms.length - 1
      entry.why?.push(
        `${wordsIn(mask, this.#query)}: ${percent(share)} of the weight, length × ${brevity[at]!.toFixed(2)}`,
      )
    })
  }

  /** Plain words that no passage has. */
  termsNotFound(): string[] {
    const mask = [...this.#found.values()].reduce((all, each) => all | each.mask, 0)
    const isNotFound = ({ expression }: QueryTerm, at: number): boolean =>
      ((mask >> at) & 1) === 0 && 'words' in expression && !expression.isPrefix
    return this.#query.terms
      .filter((term, at) => !term.isPhrase && isNotFound(term, at))
      .map(({ text }) => text)
  }

  addPieces(): void {
    const { pieces } = this.#query
    if (!pieces || !(pieces.always || this.#found.size === 0)) return
    for (const passage of this.#parts.index.matchPieces(pieces.substrings, this.#filter, candidates))
      this.#add(passage, piecesWeight, 'pieces').why?.push('has the letters')
  }

  addNear(near: NearPassage[]): void {
    const likeness = new Map(near.map((each) => [each.id, each.likeness]))
    const weight = this.#meaningWeight()
    for (const passage of this.#parts.index.passages([...likeness.keys()], this.#filter)) {
      const added = weight * likeness.get(passage.id)!
      this.#add(passage, added, 'meaning').why?.push(`like it in meaning: ${added.toFixed(2)}`)
    }
  }

  #meaningWeight(): number {
    return meaningWeight.least + meaningWeight.more * Math.max(0, manyOfWords - this.bestShare)
  }

  #add(passage: FoundPassage, score: number, by: SearchHit['by'][number]): Ranked {
    const entry = this.#found.get(passage.id) ?? {
      passage,
      score: 0,
      by: [],
      mask: 0,
      hasAll: false,
      why: this.#filter.explain ? [] : undefined,
    }
    entry.score += score
    entry.by.push(by)
    this.#found.set(passage.id, entry)
    return entry
  }

  best(): Ranked[] {
    const now = this.#parts.now()
    // As meaning, the time counts more where words say little.
    const named = (timeWeight * this.#meaningWeight()) / meaningWeight.least
    for (const entry of this.#found.values()) {
      const { passage } = entry
      const time = this.#times.length === 0 ? 0 : named * nearnessInTime(passage.at, this.#times)
      if (time > 0) entry.why?.push(`at the named time: ${time.toFixed(2)}`)
      const place = recency(passage.at, now) * nearness(passage.source.repoPath, this.#filter.near)
      if (passage.role === 'tool') entry.why?.push(`tool × ${toolWeight}`)
      entry.why?.push(`recent and near × ${place.toFixed(2)}`)
      entry.score = (entry.score + time) * (passage.role === 'tool' ? toolWeight : 1) * place
    }
    const ranked = withoutCopies([...this.#found.values()]).sort(byScore)
    const sessions = [...Map.groupBy(ranked, ({ passage }) => sessionOf(passage)).values()]
    const withWords = sessions.flatMap((passages) => this.#addSession(passages))
    keepBelow(Math.min(...withWords), ranked)
    return ranked.sort(byScore).slice(0, Math.max(candidates, this.#filter.limit ?? 0))
  }

  /** Adds to the best passages of a session what the session has beside them. Returns the score of a session that has most of
   *  the words. */
  #addSession(passages: Ranked[]): number[] {
    const { second, third, coverage } = sessionWeights
    const covered = shareIn(
      passages.reduce((mask, each) => mask | each.mask, 0),
      this.#shares,
    )
    const scoreAt = (at: number): number => passages[at]?.score ?? 0
    const more = second * scoreAt(1) + third * scoreAt(2) + coverage * covered ** sharpness
    for (const entry of passages) {
      if (!entry.hasAll) continue
      entry.score += allWordsBonus
      entry.why?.push(`has all words: +${allWordsBonus}`)
    }
    for (const entry of passages.toSorted(byScore).slice(0, shownOfSession)) {
      entry.score += more
      entry.why?.push(`its session: ${percent(covered)} of the words, +${more.toFixed(2)}`)
    }
    return covered < mostOfWords ? [] : [Math.max(...passages.map(({ score }) => score))]
  }
}

/** What only resembles the question in meaning ranks below sessions that have most of its words. */
function keepBelow(limit: number, ranked: Ranked[]): void {
  for (const entry of ranked) {
    if (entry.score < limit || entry.by.some((by) => by !== 'meaning')) continue
    entry.score = limit * (1 - 1 / (2 + entry.score))
    entry.why?.push('below sessions that have the words')
  }
}

function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || b.passage.at - a.passage.at
}

function sessionOf({ source }: FoundPassage): string {
  return `${source.kind} ${source.sessionId}`
}

/** The names of the repository, the branch and the channel of a source. */
export function placeNamesOf({ repoPath, branch = '', channel = '' }: SearchSource): string[] {
  return [repoPath === undefined ? '' : basename(repoPath), branch, channel]
}

/** The terms that name the place. */
export function maskOfPlace(names: string[], { terms }: ParsedQuery): number {
  const place = names.filter((name) => name !== '').map((name) => fold(splitIdentifier(name)))
  const words = new Set(place.flatMap((name) => [name, ...name.split(/[^\p{L}\p{N}]+/u)]))
  return terms.reduce((mask, { text }, at) => (words.has(fold(text)) ? mask | (1 << at) : mask), 0)
}

function wordsIn(mask: number, { terms }: ParsedQuery): string {
  return terms.flatMap(({ text }, at) => ((mask >> at) & 1 ? [text] : [])).join(' ')
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}

/** From 1.15 for now down to 1 for long ago; half of the bonus is gone after a week. */
function recency(at: number, now: number): number {
  const weeks = Math.max(0, now - at) / (7 * 86_400_000)
  return 1 + 0.15 / (1 + weeks)
}

/** 1.1 for the caller's repository, and for repositories below the caller's folder. */
function nearness(repoPath: string | undefined, near: string | undefined): number {
  if (repoPath === undefined || near === undefined) return 1
  const isNear = `${near}/`.startsWith(`${repoPath}/`) || repoPath.startsWith(`${near}/`)
  return isNear ? 1.1 : 1
}
