// All passages that a filter allows, the newest first. A regular expression is tried on them until enough were found, so the
// first ones are there soon, and the rest is looked up when it is needed.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { conditions } from './index-rows.ts'
import { fewOf, tablesOf } from './search-filter.ts'
import { WordList } from './word-lists.ts'

/** The first group; each is larger than the one before, up to a limit. */
const firstGroup = 50
const mostOfGroup = 400
/** Up to this many passages are sorted at once; of more, all passages are walked through by their time. */
const mostSorted = 5_000
/** Passages of a step of such a walk. */
const step = 2_000

/** Groups of ids; only those of `among`, if it is given. */
export function* newestPassages(
  q: Queries,
  filter: SearchFilter,
  among: WordList | undefined,
): Generator<number[]> {
  let group: number[] = []
  let size = firstGroup
  for (const id of newestFirst(q, filter, among)) {
    if (group.push(id) < size) continue
    yield group
    group = []
    size = Math.min(mostOfGroup, 2 * size)
  }
  if (group.length > 0) yield group
}

function newestFirst(q: Queries, filter: SearchFilter, among: WordList | undefined): Iterable<number> {
  const { where, values } = conditions(filter)
  const sorted = (sql: string, given: Array<string | number>): number[] => {
    const ids = idsOf(
      q,
      `SELECT p.id FROM (${sql}) found ${tablesOf('found.id')} WHERE true ${where} ORDER BY p.at DESC, p.id DESC`,
      ...given,
      ...values,
    )
    return among ? ids.filter((id) => among.has(id)) : ids
  }
  if (among && among.count <= mostSorted) {
    const ids = JSON.stringify(WordList.newest([among], mostSorted))
    return sorted('SELECT value AS id FROM json_each(?)', [ids])
  }
  const few = fewOf(q, filter)
  return few ? sorted(few.sql, few.values) : walk(q, filter, among)
}

function* walk(q: Queries, filter: SearchFilter, among: WordList | undefined): Generator<number> {
  const { where, values } = conditions(filter)
  // The order of the tables is fixed: SQLite would rather read all sources first.
  const sources = where === '' ? '' : 'CROSS JOIN source s ON s.id = p.source_id'
  const sql = `SELECT p.id FROM passage p INDEXED BY passage_at ${sources}
    WHERE (p.at, p.id) < (?, ?) ${where} ORDER BY p.at DESC, p.id DESC LIMIT ?`
  let before = { at: Number.MAX_SAFE_INTEGER, id: 0 }
  for (;;) {
    const ids = idsOf(q, sql, before.at, before.id, ...values, step)
    for (const id of ids) if (among?.has(id) ?? true) yield id
    const last = q.get<typeof before>('SELECT id, at FROM passage WHERE id = ?', ids.at(-1) ?? 0)
    if (ids.length < step || !last) return
    before = last
  }
}

/** As one text of JSON: a row for each would take twice as long. */
function idsOf(q: Queries, sql: string, ...values: Array<string | number>): number[] {
  const { ids } = q.get<{ ids: string }>(`SELECT json_group_array(id) AS ids FROM (${sql})`, ...values)!
  return JSON.parse(ids) as number[]
}
