// Finds the passages that have the words of a question, and weighs them, in a time that hardly grows with the index. Every
// passage with a rare word is a candidate. A common word takes longest to list and tells passages apart least: it makes no
// candidates, but it is looked up which candidates have it. A filter that allows few passages is evaluated first.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { foundFromRow, sourceColumns, sourceFromRow } from './index-rows.ts'
import type { FoundPassage, SourceRow } from './index-rows.ts'
import { narrowed, type Condition, type MatchTable } from './search-filter.ts'
import { WordList, WordLists, type IndexState } from './word-lists.ts'

export interface WordMatches {
  passages: FoundPassage[]
  /** Of each passage: which of the terms it has, one bit for each term. */
  masks: number[]
  /** Of each passage: above 1 for a short passage, below 1 for a long one. */
  brevity: number[]
  /** The share of each term in the weight of all terms; a rare word weighs more. */
  shares: number[]
}

/** A word in more passages than this is common. */
const commonAbove = 4_000
/** If all words are common, the newest of the passages with the rarest word are the candidates. */
const mostOfCommon = 600
/** And this many of those that have all the words: looking for more may mean looking through the whole index. */
const mostOfAll = 200
/** Passages are counted up to this number; a word in more of them weighs next to nothing anyway. */
const mostCounted = 40_000
/** Candidates in which a common word is looked up. */
const mostCandidates = 20_000
/** This many of the best are weighed by their length and ranked. */
const mostRanked = 500
/** How much the length of a passage counts, as in BM25. */
const lengthWeight = { k1: 0.6, b: 0.3 }
/** If so many passages have the letters of a regular expression, it finds matches soon without them. */
const manyPassages = 5_000
/** Size of the cache of common words. A count is used again until the index has grown by a tenth. */
const cachedCounts = 5_000

interface FoundTerm {
  /** How many passages have the term. */
  count: number
  /** Those that the filter allows; absent for a common word. */
  ids?: number[]
  /** Those of a common word, if the list is loaded and there is no filter. */
  list?: WordList
}

interface CountedPassage {
  passage: FoundPassage
  /** How many words it has. */
  words: number
}

export class SearchMatch {
  readonly #q: Queries
  /** The common words: how many passages have each, and how many passages there were. */
  readonly #common = new Map<string, { count: number; passages: number }>()
  readonly #lists: WordLists

  constructor(q: Queries) {
    this.#q = q
    this.#lists = new WordLists(q)
  }

  /** Loads a part of the lists of recent terms; false when all are loaded. */
  loadLists(): boolean {
    return this.#lists.load(this.#state())
  }

  /** The passages with the largest share of the words. */
  byWords(terms: string[], filter: SearchFilter): WordMatches {
    const among = narrowed(this.#q, 'words', filter)
    if (!among || terms.length === 0) return { passages: [], masks: [], brevity: [], shares: [] }
    const state = this.#state()
    const looked = terms.map((term) => this.#lookUp(term, among, state))
    const shares = sharesOf(
      looked.map(({ count }) => count),
      state.passages,
    )
    const masks = this.#candidates(terms, looked, among)
    const best = bestOf(masks, shares)
    const found = this.#passages(best)
    return {
      passages: found.map(({ passage }) => passage),
      masks: found.map(({ passage }) => masks.get(passage.id)!),
      brevity: found.map(({ words }) => brevityOf(words / state.average)),
      shares,
    }
  }

  /** The newest passages that have all pieces. */
  byPieces(expression: string, filter: SearchFilter, limit: number): FoundPassage[] {
    const among = narrowed(this.#q, 'pieces', filter)
    if (!among) return []
    return this.#passages(this.#newest('pieces', expression, among, limit)).map(({ passage }) => passage)
  }

  /** All passages that have these pieces; undefined if they are many. */
  withPieces(expression: string): number[] | undefined {
    const ids = this.#newest('pieces', expression, { sql: '', values: [] }, manyPassages)
    return ids.length < manyPassages ? ids : undefined
  }

  /** Which terms each candidate has. */
  #candidates(terms: string[], found: FoundTerm[], among: Condition): Map<number, number> {
    const masks = new Map<number, number>()
    const rare = terms.filter((_, at) => found[at]!.ids && found[at]!.count > 0)
    if (rare.length === 0) this.#addCommon(masks, terms, found, among)
    const usesLists = rare.length > 0 && found.some(({ ids, list }) => list && !ids)
    const withRare = usesLists ? newestFirst(found.flatMap(({ ids }) => ids ?? [])) : []
    terms.forEach((term, at) => {
      const { ids, list } = found[at]!
      for (const id of ids ?? []) addBit(masks, id, at)
      if (ids || rare.length === 0) return
      const having = list
        ? withRare.filter((id) => list.has(id)).slice(0, mostCandidates)
        : this.#newest('words', `(${rare.join(' OR ')}) AND ${term}`, among, mostCandidates)
      for (const id of having) addBit(masks, id, at)
    })
    return masks
  }

  /** All words are common: passages that have all of them, and the newest with the rarest one. */
  #addCommon(masks: Map<number, number>, terms: string[], found: FoundTerm[], among: Condition): void {
    const present = terms.flatMap((_, at) => (found[at]!.count > 0 ? [at] : []))
    const [rarest, ...others] = present.sort((a, b) => found[a]!.count - found[b]!.count)
    if (rarest === undefined) return
    const addHaving = (having: number[], limit = mostOfCommon): void => {
      const lists = having.flatMap((at) => found[at]!.list ?? [])
      const expression = having.map((at) => terms[at]!).join(' AND ')
      const ids =
        lists.length === having.length
          ? WordList.newest(lists, limit)
          : this.#newest('words', expression, among, limit)
      for (const id of ids) for (const at of having) addBit(masks, id, at)
    }
    addHaving([rarest])
    for (const at of others) addHaving([rarest, at])
    if (others.length > 1) addHaving(present, mostOfAll)
  }

  /** The passages that have the term, unless it is common, and how many passages have it whatever the filter allows: how rare
   *  a word is does not depend on who asks. */
  #lookUp(term: string, among: Condition, state: IndexState): FoundTerm {
    const list = this.#lists.of(term, state)
    if (list && among.sql === '') {
      if (list.count > commonAbove) return { count: Math.min(list.count, mostCounted), list }
      return { count: list.count, ids: WordList.newest([list], commonAbove) }
    }
    const { passages } = state
    const known = this.#common.get(term)
    if (known && Math.abs(known.passages - passages) * 10 <= known.passages) return { count: known.count }
    const ids = this.#newest('words', term, among, commonAbove + 1)
    if (among.sql === '' && ids.length <= commonAbove) return { count: ids.length, ids }
    const count = list ? Math.min(list.count, mostCounted) : this.#count(term)
    if (count <= commonAbove) return { count, ids }
    if (this.#common.size >= cachedCounts) this.#common.clear()
    this.#common.set(term, { count, passages })
    return { count }
  }

  #count(term: string): number {
    const sql = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)'
    return this.#q.get<{ count: number }>(sql, term, mostCounted)!.count
  }

  #newest(table: MatchTable, expression: string, among: Condition, limit: number): number[] {
    const sql = `SELECT json_group_array(id) AS ids FROM (SELECT ${table}.rowid AS id FROM ${table} ${among.tables ?? ''}
      WHERE ${table} MATCH ? ${among.sql} ORDER BY ${table}.rowid DESC LIMIT ?)`
    const found = this.#q.get<{ ids: string }>(sql, expression, ...among.values, limit)
    return JSON.parse(found!.ids) as number[]
  }

  /** FTS5 keeps the number of passages and of their words in its first record. */
  #state(): IndexState {
    const { block, lastId, deletions } = this.#q.get<{
      block: Uint8Array
      lastId: number
      deletions: number
    }>(
      `SELECT (SELECT block FROM words_data WHERE id = 1) AS block, count AS deletions,
              (SELECT coalesce(max(id), 0) FROM passage) AS lastId FROM deletions`,
    )!
    const [passages = 0, words = 0] = varints(block)
    return { passages, average: Math.max(1, words / Math.max(1, passages)), lastId, deletions }
  }

  /** These passages, in this order. As one text of JSON: a row for each would take twice as long. Many are of the same source,
   *  which is read once. */
  #passages(ids: number[]): CountedPassage[] {
    const columns = 'p.id, p.line, p.offset, p.length, p.role, p.at, p.source_id, hex(d.sz)'
    const { rows } = this.#q.get<{ rows: string }>(
      `SELECT json_group_array(json_array(${columns})) AS rows FROM json_each(?) found
         JOIN passage p ON p.id = found.value JOIN words_docsize d ON d.id = p.id`,
      JSON.stringify(ids),
    )!
    const found = JSON.parse(rows) as Array<[...Array<number>, words: string]>
    const sources = this.#q.all<SourceRow & { id: number }>(
      `SELECT s.id, ${sourceColumns} FROM source s WHERE s.id IN (SELECT value FROM json_each(?))`,
      JSON.stringify([...new Set(found.map((row) => row[6]))]),
    )
    const bySource = new Map(sources.map((row) => [row.id, sourceFromRow(row)]))
    const byId = new Map(
      found.map((row) => {
        const [id, line, offset, length, role, at, source] = row as unknown as number[]
        const fields = { id: id!, line: line!, offset: offset!, length: length!, role: role!, at: at! }
        const passage = foundFromRow(fields, bySource.get(source!)!)
        return [id!, { passage, words: varints(Buffer.from(row.at(-1) as string, 'hex'))[0] ?? 0 }]
      }),
    )
    return ids.flatMap((id) => byId.get(id) ?? [])
  }
}

/** The passages with the largest shares, the newest first among equals. Many have the same words: these are one group. */
function bestOf(masks: Map<number, number>, shares: number[]): number[] {
  const groups = new Map<number, number[]>()
  for (const [id, mask] of masks) {
    const group = groups.get(mask)
    if (group) group.push(id)
    else groups.set(mask, [id])
  }
  const ordered = [...groups].sort(([a], [b]) => shareIn(b, shares) - shareIn(a, shares))
  const best: number[] = []
  for (const [, ids] of ordered) {
    if (best.length >= mostRanked) break
    best.push(...ids.sort((a, b) => b - a).slice(0, mostRanked - best.length))
  }
  return best
}

/** Each once. */
function newestFirst(ids: number[]): number[] {
  return [...new Set(ids)].sort((a, b) => b - a)
}

function addBit(masks: Map<number, number>, id: number, at: number): void {
  masks.set(id, (masks.get(id) ?? 0) | (1 << at))
}

/** The share of the weight of all terms that these terms have. */
export function shareIn(mask: number, shares: number[]): number {
  return shares.reduce((sum, share, at) => ((mask >> at) & 1 ? sum + share : sum), 0)
}

function sharesOf(counts: number[], passages: number): number[] {
  const weights = counts.map((count) =>
    Math.log(1 + (Math.max(passages, count) - count + 0.5) / (count + 0.5)),
  )
  const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1
  return weights.map((weight) => weight / whole)
}

function brevityOf(length: number): number {
  const { k1, b } = lengthWeight
  return (k1 + 1) / (1 + k1 * (1 - b + b * length))
}

/** Numbers in the format of FTS5: seven bits in each byte, the highest first. */
function varints(bytes: Uint8Array): number[] {
  const numbers: number[] = []
  let number = 0
  for (const byte of bytes) {
    number = number * 128 + (byte & 127)
    if (byte >= 128) continue
    numbers.push(number)
    number = 0
  }
  return numbers
}
