// Finds the best passages for a full-text expression, in a time that hardly grows with the index. Ranking by a word means
// counting every passage that has it. A very common word takes longest and tells passages apart least: passages must have
// it, but it does not rank them. A filter that allows few passages is evaluated first, not for every match.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/database.ts'
import { conditions, passageColumns, sourceColumns, type PassageRow } from './index-rows.ts'

type MatchTable = 'words' | 'pieces'

/** Passages that must have all of these terms, or any of them. */
export interface WordsQuestion {
  terms: string[]
  joint: 'AND' | 'OR'
}

/** A word in more passages than this is common and does not rank. */
const commonAbove = 4_000
/** At most this many matches are ranked, the newest ones. */
const mostRanked = 1_000
/** If a filter allows at most this many passages, their ids are looked up first. */
const fewAllowed = 20_000
/** If any word is enough: with this many matches for the rare words, common words are not searched. */
const enough = 10
/** Size of the cache of common words. A word that becomes rare ranks again after a restart. */
const cachedWords = 5_000

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

  /** The best by their words first; equal ones by age, the newest first. */
  byWords(question: WordsQuestion, filter: SearchFilter, limit: number): PassageRow[] {
    const among = this.#narrowed('words', filter)
    if (!among) return []
    const ranking = question.terms.filter((term) => this.#isRanking(term))
    const isAll = question.joint === 'AND'
    const ids = isAll
      ? this.#all(question, ranking, among, limit)
      : this.#any(question, ranking, among, limit)
    return this.#rows(ids)
  }

  /** The newest passages that have all pieces. */
  byPieces(expression: string, filter: SearchFilter, limit: number): PassageRow[] {
    const among = this.#narrowed('pieces', filter)
    return among ? this.#rows(this.#newest('pieces', expression, among, limit)) : []
  }

  #all({ terms }: WordsQuestion, ranking: string[], among: Condition, limit: number): number[] {
    const expression = terms.join(' AND ')
    if (ranking.length === terms.length) return this.#ranked(expression, among, limit)
    if (ranking.length === 0) return this.#newest('words', expression, among, limit)
    const candidates = this.#newest('words', expression, among, mostRanked)
    const sql = ' AND +words.rowid IN (SELECT value FROM json_each(?))'
    const these = { sql, values: [JSON.stringify(candidates)] }
    return this.#ranked(ranking.join(' AND '), these, limit)
  }

  #any({ terms }: WordsQuestion, ranking: string[], among: Condition, limit: number): number[] {
    const best = ranking.length === 0 ? [] : this.#ranked(ranking.join(' OR '), among, limit)
    if (best.length >= enough || ranking.length === terms.length) return best
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

  /** The rows of these passages, in this order. */
  #rows(ids: number[]): PassageRow[] {
    return this.#q.all<PassageRow>(
      `SELECT ${passageColumns}, ${sourceColumns} FROM json_each(?) found
         JOIN passage p ON p.id = found.value JOIN source s ON s.id = p.source_id ORDER BY found.key`,
      JSON.stringify(ids),
    )
  }

  /** The filter as a condition; undefined when it allows nothing. */
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

  /** A phrase is used for ranking if one of its words is not common: only the few passages with that word are counted. */
  #isRanking(term: string): boolean {
    return phrasesIn(term).every((words) => words.some((word) => !this.#isCommon(word)))
  }

  #isCommon(word: string): boolean {
    if (this.#common.has(word)) return true
    const sql = 'SELECT count(*) AS count FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)'
    if (this.#q.get<{ count: number }>(sql, word, commonAbove + 1)!.count <= commonAbove) return false
    if (this.#common.size >= cachedWords) this.#common.clear()
    this.#common.add(word)
    return true
  }
}

/** The words of every phrase of a term, each in quotes. */
function phrasesIn(term: string): string[][] {
  return [...term.matchAll(/"((?:[^"]|"")*)"(\*?)/g)].map(([, text, star]) => {
    const words = text!.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []
    return words.map((word, i) => `"${word}"${i === words.length - 1 ? star! : ''}`)
  })
}

/** The sources that the filter allows; undefined for all of them. */
export function allowedSources(q: Queries, filter: SearchFilter): number[] | undefined {
  const { agentId, repoPaths, channel, source, sessionIds } = filter
  const { where, values } = conditions({ agentId, repoPaths, channel, source, sessionIds })
  if (where === '') return undefined
  return q.all<{ id: number }>(`SELECT s.id FROM source s WHERE true ${where}`, ...values).map(({ id }) => id)
}

interface Few {
  /** Selects the ids of these passages. */
  sql: string
  values: Array<string | number>
  count: number
  first: number
  last: number
}

/** The passages of the allowed sources, or of the allowed time, if they are few. */
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
