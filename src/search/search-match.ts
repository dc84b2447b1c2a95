// Finds the passages that have the words of a question, and weighs them, in a time that hardly grows with the index. Every
// passage with a rare word is a candidate. A common word takes longest to list and tells passages apart least: it makes no
// candidates, but it is looked up which candidates have it. A filter that allows few passages is evaluated first.
import type { SearchFilter, SearchSource } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { foundFromRow, sourceFields, sourceFromRow, totalsOf } from './index-rows.ts'
import type { FoundPassage, SourceRow } from './index-rows.ts'
import { nearWord } from './near-word.ts'
import { newestPassages } from './newest-passages.ts'
import { PassageTimes } from './passage-times.ts'
import { Numbers } from './postings.ts'
import type { NeededLetters } from './regex-letters.ts'
import { AgentLists, allowedBy, RoleLists, type Newest } from './search-filter.ts'
import { WordList, WordLists, type WordExpression } from './word-lists.ts'

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
/** If more passages have the letters of an expression, whole words among the letters are looked up too. */
const manyWithLetters = 100
/** How much the length of a passage counts, as in BM25. */
const lengthWeight = { k1: 0.6, b: 0.3 }

/** The passages that the index has. */
interface IndexState {
  /** How many there are, and how many words they have on average. */
  passages: number
  average: number
  /** The id of the newest. */
  lastId: number
}

interface FoundTerm {
  /**
   * How many passages of the agent have the term, or of all agents if none is named, independent of the rest of the filter.
   * Passages of other agents must not count: the weight of a word would tell whether they have it.
   */
  count: number
  list: WordList
  /** Those that the filter allows; absent for a common word. */
  ids?: number[]
}

interface CountedPassage {
  passage: FoundPassage
  /** How many words it has. */
  words: number
}

export class SearchMatch {
  readonly #q: Queries
  readonly #lists: WordLists
  readonly #pieces: WordLists
  readonly #roles: RoleLists
  readonly #agents: AgentLists
  readonly #times: PassageTimes
  /** The passages whose pieces are not indexed yet, as of this state of the index. */
  #withoutPieces: { asOf: string; list: WordList } | undefined

  constructor(q: Queries) {
    this.#q = q
    this.#lists = new WordLists(q)
    this.#pieces = new WordLists(q, 'pieces')
    this.#roles = new RoleLists(q)
    this.#agents = new AgentLists(q)
    this.#times = new PassageTimes(q)
  }

  async close(): Promise<void> {
    await this.#lists.close()
    await this.#pieces.close()
  }

  tokensOf(text: string): string[] {
    return this.#lists.tokensOf(text)
  }

  /** The passages with the largest share of the words. */
  byWords(terms: WordExpression[], filter: SearchFilter): WordMatches {
    const newest = allowedBy(this.#q, filter, this.#roles, this.#times)
    if (!newest || terms.length === 0) return { passages: [], masks: [], brevity: [], shares: [] }
    const state = this.#state()
    this.#lists.refresh(state.lastId)
    const ofAgent = this.#agents.of(filter.agentId, state)
    const looked = terms.map((term) => this.#lookUp(term, ofAgent, newest))
    const shares = sharesOf(
      looked.map(({ count }) => count),
      ofAgent?.count ?? state.passages,
    )
    const masks = candidatesOf(looked, newest)
    const best = bestOf(masks, shares)
    const found = this.#passages(best)
    return {
      passages: found.map(({ passage }) => passage),
      masks: found.map(({ passage }) => masks.get(passage.id)!),
      brevity: found.map(({ words }) => brevityOf(words / state.average)),
      shares,
    }
  }

  #lookUp(term: WordExpression, ofAgent: WordList | undefined, newest: Newest): FoundTerm {
    const found = this.#lists.of(term)
    const list = ofAgent ? WordList.withAll([found, ofAgent]) : found
    const count = Math.min(list.count, mostCounted)
    return { count, list, ids: count > commonAbove ? undefined : newest([list], commonAbove) }
  }

  /** The newest passages that have all pieces of these substrings. Whether the pieces stand together is seen in the text. */
  byPieces(substrings: string[], filter: SearchFilter, limit: number): FoundPassage[] {
    const newest = allowedBy(this.#q, filter, this.#roles, this.#times)
    if (!newest) return []
    this.#pieces.refresh(this.#state().lastId)
    const list = this.#pieces.of({ all: substrings.map((words) => ({ words })) })
    return this.passages(newest([list], limit))
  }

  /** A word like this one, which no passage that the filter allows has, from a passage that it allows. */
  nearWord(
    word: string,
    filter: SearchFilter,
    textOf: (passage: FoundPassage) => string,
  ): string | undefined {
    const newest = allowedBy(this.#q, filter, this.#roles, this.#times)
    if (!newest) return undefined
    const state = this.#state()
    const ofAgent = this.#agents.of(filter.agentId, state)
    this.#lists.refresh(state.lastId)
    if (newest([this.#lists.of({ words: word })], 1).length > 0) return undefined
    return nearWord(word, {
      stemOf: (each) => this.#lists.tokenOf(each),
      stemsLike: (each) => this.#lists.tokensLike(each),
      passageWith: (stem) => {
        const { count, list } = this.#lookUp({ token: stem }, ofAgent, newest)
        const [passage] = this.passages(newest([list], 1))
        return passage && { count, text: textOf(passage) }
      },
    })
  }

  /** Passages that the filter allows, the newest first, in groups; only those of `among`, if it is given. */
  *newest(filter: SearchFilter, among: WordList | undefined): Generator<FoundPassage[]> {
    for (const ids of newestPassages(this.#q, filter, among, this.#times)) yield this.passages(ids)
  }

  /** All passages that may have these letters: those that have the pieces, and those whose pieces are not indexed yet. */
  withLetters(needed: NeededLetters): WordList {
    const state = this.#state()
    this.#pieces.refresh(state.lastId)
    this.#lists.refresh(state.lastId)
    return this.#having(needed, this.#lackingPieces(state))
  }

  #having(needed: NeededLetters, lacking: WordList[]): WordList {
    if ('any' in needed) return WordList.withAny(needed.any.map((each) => this.#having(each, lacking)))
    if ('all' in needed) return WordList.withAll(needed.all.map((each) => this.#having(each, lacking)))
    const found = WordList.withAny([this.#pieces.of({ words: needed.letters, isRough: true }), ...lacking])
    const words = found.count > manyWithLetters ? wholeWordsIn(needed.letters) : undefined
    return words === undefined ? found : WordList.withAll([found, this.#lists.of({ words })])
  }

  #lackingPieces({ passages, lastId }: IndexState): WordList[] {
    const asOf = [passages, totalsOf(this.#q, 'pieces').passages, lastId].join(' ')
    if (this.#withoutPieces?.asOf !== asOf) {
      const sql = `SELECT json_group_array(id) AS ids FROM passage INDEXED BY passage_without_pieces
        WHERE has_pieces = 0`
      const ids = JSON.parse(this.#q.get<{ ids: string }>(sql)!.ids) as number[]
      this.#withoutPieces = { asOf, list: WordList.of(ids, lastId) }
    }
    const { list } = this.#withoutPieces
    return list.count === 0 ? [] : [list]
  }

  #state(): IndexState {
    const { passages, tokens } = totalsOf(this.#q, 'words')
    const sql = 'SELECT coalesce(max(id), 0) AS lastId FROM passage'
    const { lastId } = this.#q.get<{ lastId: number }>(sql)!
    return { passages, average: Math.max(1, tokens / Math.max(1, passages)), lastId }
  }

  /** These passages, in this order, as far as they exist. */
  passages(ids: number[]): FoundPassage[] {
    return this.#passages(ids).map(({ passage }) => passage)
  }

  /** As one text of JSON: a row for each would take twice as long. Many are of the same source, which is read once. */
  #passages(ids: number[]): CountedPassage[] {
    const columns = 'p.id, p.line, p.offset, p.length, p.role, p.at, p.source_id, hex(d.sz)'
    const { rows } = this.#q.get<{ rows: string }>(
      `SELECT json_group_array(json_array(${columns})) AS rows FROM json_each(?) found
         JOIN passage p ON p.id = found.value JOIN words_docsize d ON d.id = p.id`,
      JSON.stringify(ids),
    )!
    const found = JSON.parse(rows) as Array<[...Array<number>, words: string]>
    const sources = this.#sources([...new Set(found.map((row) => row[6] as number))])
    const byId = new Map(
      found.map((row) => {
        const [id, line, offset, length, role, at, source] = row as unknown as number[]
        const fields = { id: id!, line: line!, offset: offset!, length: length!, role: role!, at: at! }
        const passage = foundFromRow(fields, sources.get(source!)!)
        return [id!, { passage, words: new Numbers(Buffer.from(row.at(-1) as string, 'hex')).next() }]
      }),
    )
    return ids.flatMap((id) => byId.get(id) ?? [])
  }

  #sources(ids: number[]): Map<number, SearchSource> {
    const { rows } = this.#q.get<{ rows: string }>(
      `SELECT json_group_array(json_object('id', s.id, ${sourceFields})) AS rows
         FROM source s WHERE s.id IN (SELECT value FROM json_each(?))`,
      JSON.stringify(ids),
    )!
    const sources = JSON.parse(rows) as Array<SourceRow & { id: number }>
    return new Map(sources.map((row) => [row.id, sourceFromRow(row)]))
  }
}

/** The words that have a sign before and after them: they are words of the text too, next to each other. */
function wholeWordsIn(letters: string): string | undefined {
  return /(?<=[\x20-\x2f\x3a-\x40])[a-z0-9][\x20-\x40a-z0-9]*(?=[\x20-\x2f\x3a-\x40])/i.exec(letters)?.[0]
}

/** Which terms each candidate has. */
function candidatesOf(found: FoundTerm[], newest: Newest): Map<number, number> {
  const masks = new Map<number, number>()
  const hasRare = found.some(({ ids, count }) => ids && count > 0)
  if (!hasRare) addCommon(masks, found, newest)
  found.forEach(({ ids = [] }, at) => {
    for (const id of ids) addBit(masks, id, at)
  })
  const common = hasRare ? [...found.keys()].filter((at) => !found[at]!.ids) : []
  const withRare = common.length > 0 ? [...masks.keys()].sort((a, b) => b - a) : []
  for (const at of common) {
    const { list } = found[at]!
    for (const id of withRare.filter((id) => list.has(id)).slice(0, mostCandidates)) addBit(masks, id, at)
  }
  return masks
}

/** All words are common: passages that have all of them, and the newest with the rarest one. */
function addCommon(masks: Map<number, number>, found: FoundTerm[], newest: Newest): void {
  const present = [...found.keys()].filter((at) => found[at]!.count > 0)
  const [rarest, ...others] = present.sort((a, b) => found[a]!.count - found[b]!.count)
  if (rarest === undefined) return
  const addHaving = (having: number[], limit = mostOfCommon): void => {
    const lists = having.map((at) => found[at]!.list)
    for (const id of newest(lists, limit)) for (const at of having) addBit(masks, id, at)
  }
  addHaving([rarest])
  for (const at of others) addHaving([rarest, at])
  if (others.length > 1) addHaving(present, mostOfAll)
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
