// A filter as a condition of SQL. A filter that allows few passages is evaluated first, and the words are looked up among them.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { conditions } from './index-rows.ts'

export type MatchTable = 'words' | 'pieces'

/** If a filter allows at most this many passages, their ids are looked up first. */
const fewAllowed = 20_000

/** A condition on the passages, and the tables that it needs. */
export interface Condition {
  tables?: string
  sql: string
  values: Array<string | number>
}

/** The filter as a condition; undefined when it allows nothing. */
export function narrowed(q: Queries, table: MatchTable, filter: SearchFilter): Condition | undefined {
  const { where, values } = conditions(filter)
  if (where === '') return { sql: '', values: [] }
  const few = fewOf(q, filter)
  if (few?.count === 0) return undefined
  const tables = 'JOIN passage p ON p.id = found.id JOIN source s ON s.id = p.source_id'
  if (!few) return { tables: tables.replaceAll('found.id', `${table}.rowid`), sql: where, values }
  const ids = `SELECT p.id FROM (${few.sql}) found ${tables} WHERE true ${where}`
  return {
    sql: ` AND ${table}.rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER) AND +${table}.rowid IN (${ids})`,
    values: [few.first, few.last, ...few.values, ...values],
  }
}

/** The sources that the filter allows; undefined for all of them. */
export function allowedSources(q: Queries, filter: SearchFilter): number[] | undefined {
  const { agentId, agentKind, repoPaths, channel, source, sessionIds, file } = filter
  const { where, values } = conditions({ agentId, agentKind, repoPaths, channel, source, sessionIds, file })
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
