// All passages that a filter allows, the newest first. A regular expression is tried on them until enough were found, so the
// first ones are there soon, and the rest is looked up when it is needed.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { conditions } from './index-rows.ts'
import type { PassageTimes } from './passage-times.ts'
import { fewOf, tablesOf } from './search-filter.ts'
import { WordList } from './word-lists.ts'

/** The first group; each is larger than the one before, up to a limit. */
const firstGroup = 50
const mostOfGroup = 400
/** Up to this many passages are sorted; of more, all passages are walked through by their time. */
const mostSorted = 1_000
/** How many passages are checked against the filter at first; then twice as many, and so on. */
const checkedAtOnce = 500

/** Groups of ids; only those of `among`, if present. Deleted passages may be in them. */
export function* newestPassages(
  q: Queries,
  filter: SearchFilter,
  among: WordList | undefined,
  times: PassageTimes,
): Generator<number[]> {
  let group: number[] = []
  let size = firstGroup
  for (const id of allowed(q, filter, newestFirst(q, filter, among, times))) {
    if (group.push(id) < size) continue
    yield group
    group = []
    size = Math.min(mostOfGroup, 2 * size)
  }
  if (group.length > 0) yield group
}

function* newestFirst(
  q: Queries,
  filter: SearchFilter,
  among: WordList | undefined,
  times: PassageTimes,
): Generator<number> {
  for (const id of candidates(q, filter, among, times)) if (among?.has(id) ?? true) yield id
}

function candidates(
  q: Queries,
  filter: SearchFilter,
  among: WordList | undefined,
  times: PassageTimes,
): Iterable<number> {
  if (among && among.count <= mostSorted) return times.sorted(WordList.newest([among], mostSorted))
  const few = fewOf(q, filter, times)
  return few ? times.sorted(idsOf(q, few.sql, ...few.values)) : times.newestFirst()
}

/** Those that the filter allows, in the same order. */
function* allowed(q: Queries, filter: SearchFilter, ids: Iterable<number>): Generator<number> {
  const { where, values } = conditions(filter)
  if (where === '') {
    yield* ids
    return
  }
  const sql = `SELECT p.id FROM json_each(?) found ${tablesOf('found.value')} WHERE true ${where}`
  const check = function* (some: number[]): Generator<number> {
    const fitting = new Set(idsOf(q, sql, JSON.stringify(some), ...values))
    for (const id of some) if (fitting.has(id)) yield id
  }
  let step: number[] = []
  let size = checkedAtOnce
  for (const id of ids) {
    if (step.push(id) < size) continue
    yield* check(step)
    step = []
    size *= 2
  }
  yield* check(step)
}

/** As one text of JSON: a row for each would take twice as long. */
function idsOf(q: Queries, sql: string, ...values: Array<string | number>): number[] {
  const { ids } = q.get<{ ids: string }>(`SELECT json_group_array(id) AS ids FROM (${sql})`, ...values)!
  return JSON.parse(ids) as number[]
}
