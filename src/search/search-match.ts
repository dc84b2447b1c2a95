// The best passages for a full-text expression, in a time that hardly grows with the index. To weigh a word is to count
// every passage that has it. A word that very many have would take longest and tells passages apart least: it only has
// to be there. And a filter that lets little through is asked first, not for every passage that has the words.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/database.ts'
import { conditions, passageColumns, sourceColumns } from './search-rows.ts'
import type { PassageRow } from './search-rows.ts'

type MatchTable = 'words' | 'pieces'

/** Passages that must have all of these terms, or any of them. */
export interface WordsQuestion {
  terms: string[]
  joint: 'AND' | 'OR'
}

/** A word that more passages have is common: it is not weighed. */
const mostWeighed = 4_000
/** Matches that are ranked by their words; of more, the newest. */
const mostRanked = 1_000
/** As many passages are looked up beforehand when a filter lets no more through. */
const fewAllowed = 20_000
/** Any of the words will do: with as many passages that have a word that says something, the common ones add nothing. */
const enough = 10
/** Common words that are remembered. A word that has become rare meanwhile is weighed after the next start. */
const mostRemembered = 5_000

/** A condition on the passages, and the tables that it needs. */
interface Condition {
  tables?: string
  sql: string
  values: Array<string | number>
}

export class SearchMatch {
  readonly #q: Queries
  readonly #common = new Set<string>()

  constructor(q: Queries) {
    this.#q = q
  }

  /** The best by their words first; between those that are alike, the newest. */
  byWords(question: WordsQuestion, filter: SearchFilter, limit: number): PassageRow[] {
    const among = this.#narrowed('words', filter)
    if (!among) return []
    const weighed = question.terms.filter((term) => this.#isWeighed(term))
    const ids =
      question.joint === 'AND'
        ? this.#all(question, weighed, among, limit)
        : this.#any(question, weighed, among, limit)
    return this.#rows(ids)
  }

  /** The newest that have all pieces. */
  byPieces(expression: string, filter: SearchFilter, limit: number): PassageRow[] {
    const among = this.#narrowed('pieces', filter)
    return among ? this.#rows(this.#newest('pieces', expression, among, limit)) : []
  }

  #all({ terms }: WordsQuestion, weighed: string[], among: Condition, limit: number): number[] {
    const expression = terms.join(' AND ')
    if (weighed.length === terms.length) return this.#ranked(expression, among, limit)
    if (weighed.length === 0) return this.#newest('words', expression, among, limit)
    const candidates = this.#newest('words', expression, among, mostRanked)
    const these = {
      sql: ' AND +words.rowid IN (SELECT value FROM json_each(?))',
      values: [JSON.stringify(candidates)],
    }
    return this.#ranked(weighed.join(' AND '), these, limit)
  }

  #any({ terms }: WordsQuestion, weighed: string[], among: Condition, limit: number): number[] {
    const best = weighed.length === 0 ? [] : this.#ranked(weighed.join(' OR '), among, limit)
    if (best.length >= enough || weighed.length === terms.length) return best
    const common = this.#newest('words', terms.join(' OR '), among, limit)
    return [...new Set([...best, ...common])].slice(0, limit)
  }

  #newest(table: MatchTable, expression: string, among: Condition, limit: number): number[] {
    const sql = `SELECT ${table}.rowid AS id FROM ${table} ${among.tables ?? ''}
      WHERE ${table} MATCH ? ${among.sql} ORDER BY ${table}.rowid DESC LIMIT ?`
    return this.#q.all<{ id: number }>(sql, expression, ...among.values, limit).map(({ id }) => id)
  }

  #ranked(expression: string, among: Condition, limit: number): number[] {
    const found = `SELECT words.rowid AS id, bm25(words) AS rank FROM words ${among.tables ?? ''}
      WHERE words MATCH ? ${among.sql} ORDER BY words.rowid DESC LIMIT ?`
    const sql = `SELECT id FROM (${found}) ORDER BY rank, id DESC LIMIT ?`
    return this.#q
      .all<{ id: number }>(sql, expression, ...among.values, mostRanked, limit)
      .map(({ id }) => id)
  }

  /** What is known of them, in their order. */
  #rows(ids: number[]): PassageRow[] {
    return this.#q.all<PassageRow>(
      `SELECT ${passageColumns}, ${sourceColumns} FROM json_each(?) found
         JOIN passage p ON p.id = found.value JOIN source s ON s.id = p.source_id ORDER BY found.key`,
      JSON.stringify(ids),
    )
  }

  /** The filter as a condition; undefined when it lets nothing through. */
  #narrowed(table: MatchTable, filter: SearchFilter): Condition | undefined {
    const { where, values } = conditions(filter)
    if (where === '') return { sql: '', values: [] }
    const few = fewOf(this.#q, filter)
    if (few?.count === 0) return undefined
    const tables = 'JOIN passage p ON p.id = found.id JOIN source s ON s.id = p.source_id'
    if (!few) return { tables: tables.replaceAll('found.id', `${table}.rowid`), sql: where, values }
    const ids = `SELECT p.id FROM (${few.sql}) found ${tables} WHERE true ${where}`
    return {
      sql: ` AND ${table}.rowid BETWEEN ? AND ? AND +${table}.rowid IN (${ids})`,
      values: [few.first, few.last, ...few.values, ...values],
    }
  }

  #isWeighed(term: string): boolean {
    return phrasesIn(term).every((words) => words.some((word) => !this.#isCommon(word)))
  }

  #isCommon(word: string): boolean {
    if (this.#common.has(word)) return true
    const sql = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)'
    if (this.#q.get<{ count: number }>(sql, word, mostWeighed + 1)!.count <= mostWeighed) return false
    if (this.#common.size >= mostRemembered) this.#common.clear()
    this.#common.add(word)
    return true
  }
}

/** The words of every phrase of a term, quoted as it is. One that is not common is enough for a phrase to be weighed: its
 *  passages are looked for where that word is. */
function phrasesIn(term: string): string[][] {
  return [...term.matchAll(/"((?:[^"]|"")*)"(\*?)/g)].map(([, text, star]) => {
    const words = text!.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []
    return words.map((word, i) => `"${word}"${i === words.length - 1 ? star! : ''}`)
  })
}

/** The sources that a filter lets through; undefined when it lets through all of them. */
export function allowedSources(q: Queries, filter: SearchFilter): number[] | undefined {
  const { agentId, repoPaths, channel, source, sessionIds } = filter
  const { where, values } = conditions({ agentId, repoPaths, channel, source, sessionIds })
  if (where === '') return undefined
  return q.all<{ id: number }>(`SELECT s.id FROM source s WHERE true ${where}`, ...values).map(({ id }) => id)
}

interface Few {
  /** The ids of these passages. */
  sql: string
  values: Array<string | number>
  count: number
  first: number
  last: number
}

/** The passages of the sources, or of the time, that the filter lets through, if they are few. */
function fewOf(q: Queries, filter: SearchFilter): Few | undefined {
  const sources = allowedSources(q, filter)
  const bySource = 'SELECT id FROM passage WHERE source_id IN (SELECT value FROM json_each(?))'
  const byTime = 'SELECT id FROM passage INDEXED BY passage_at WHERE at >= ?'
  return (
    (sources && countFew(q, bySource, JSON.stringify(sources))) ??
    (filter.since === undefined ? undefined : countFew(q, byTime, filter.since))
  )
}

function countFew(q: Queries, sql: string, value: string | number): Few | undefined {
  const found = q.get<Pick<Few, 'count' | 'first' | 'last'>>(
    `SELECT count(*) AS count, coalesce(min(id), 0) AS first, coalesce(max(id), 0) AS last FROM (${sql} LIMIT ?)`,
    value,
    fewAllowed + 1,
  )!
  return found.count > fewAllowed ? undefined : { sql, values: [value], ...found }
}
