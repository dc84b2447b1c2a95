// Which passages a filter allows. A filter that allows few passages is evaluated first, and the words are looked up among them.
import type { SearchFilter } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { conditions, roles } from './index-rows.ts'
import type { PassageTimes } from './passage-times.ts'
import { WordList } from './word-lists.ts'

/** If a filter allows at most this many passages, their ids are looked up first. */
const fewAllowed = 20_000
/** How many passages are checked at first; then twice as many, and so on. */
const checkedAtOnce = 1_000

/** The newest allowed passages that all of these lists have, the newest first. */
export type Newest = (lists: WordList[], limit: number) => number[]

/** Undefined when the filter allows nothing. */
export function allowedBy(
  q: Queries,
  filter: SearchFilter,
  ofRole: RoleLists,
  times: PassageTimes,
): Newest | undefined {
  if (conditions(filter).where === '') return (lists, limit) => WordList.newest(lists, limit)
  const few = fewOf(q, filter, times)
  if (few?.count === 0) return undefined
  const { role, withoutTools, ...rest } = filter
  // Passages are listed by role: most passages have another role, and reading the role of each takes long.
  const ofRoles = few ? [] : ofRole.allowedBy({ role, withoutTools })
  const { where, values } = conditions(few ? filter : rest)
  if (where === '') return (lists, limit) => WordList.newest([...lists, ...ofRoles], limit)
  const allowedOf = (sql: string, ...given: Array<string | number>): number[] => {
    const { ids } = q.get<{ ids: string }>(
      `SELECT json_group_array(p.id) AS ids FROM (${sql}) found ${tablesOf('found.id')} WHERE true ${where}`,
      ...given,
      ...values,
    )!
    return (JSON.parse(ids) as number[]).sort((a, b) => b - a)
  }
  if (few) return amongFew(allowedOf(few.sql, ...few.values))
  const among = amongMany((ids) => allowedOf('SELECT value AS id FROM json_each(?)', JSON.stringify(ids)))
  return (lists, limit) => among([...lists, ...ofRoles], limit)
}

/** Which passages have a role. Passages keep their role and their id, so only new ones are read. */
export class RoleLists {
  readonly #q: Queries
  readonly #known = new Map<number, { lastId: number; bits: Int32Array }>()

  constructor(q: Queries) {
    this.#q = q
  }

  /** None if all roles are allowed. */
  allowedBy({ role, withoutTools }: Pick<SearchFilter, 'role' | 'withoutTools'>): WordList[] {
    if (role === undefined && !withoutTools) return []
    const allowed = roles.filter((each) => (role ?? each) === each && !(withoutTools && each === 'tool'))
    const lists = allowed.map((each) => this.#with(roles.indexOf(each)))
    return [lists.length === 0 ? WordList.of([], 0) : WordList.withAny(lists)]
  }

  #with(role: number): WordList {
    const known = this.#known.get(role) ?? { lastId: 0, bits: new Int32Array(0) }
    const { ids, lastId } = this.#q.get<{ ids: string; lastId: number }>(
      `SELECT json_group_array(id) FILTER (WHERE role = ?) AS ids, coalesce(max(id), ?) AS lastId
         FROM passage WHERE id > ?`,
      role,
      known.lastId,
      known.lastId,
    )!
    const bits = new Int32Array((lastId >> 5) + 1)
    bits.set(known.bits)
    for (const id of JSON.parse(ids) as number[]) bits[id >> 5]! |= 1 << (id & 31)
    this.#known.set(role, { lastId, bits })
    return new WordList(bits)
  }
}

/** Which passages an agent may see. */
export class AgentLists {
  readonly #q: Queries
  /** By agent, with the sources and the state of the index that they were made of. */
  readonly #known = new Map<string, { asOf: string; list: WordList }>()

  constructor(q: Queries) {
    this.#q = q
  }

  /** Undefined if no agent is named. */
  of(
    agentId: string | undefined,
    { passages, lastId }: { passages: number; lastId: number },
  ): WordList | undefined {
    if (agentId === undefined) return undefined
    const sources = JSON.stringify(allowedSources(this.#q, { agentId }))
    const asOf = `${passages} ${lastId} ${sources}`
    const known = this.#known.get(agentId)
    if (known?.asOf === asOf) return known.list
    const { ids } = this.#q.get<{ ids: string }>(
      `SELECT json_group_array(id) AS ids FROM passage WHERE source_id IN (SELECT value FROM json_each(?))`,
      sources,
    )!
    const list = WordList.of(JSON.parse(ids) as number[], lastId)
    this.#known.set(agentId, { asOf, list })
    return list
  }
}

function amongFew(allowed: number[]): Newest {
  return (lists, limit) => allowed.filter((id) => lists.every((list) => list.has(id))).slice(0, limit)
}

function amongMany(allowedOf: (ids: number[]) => number[]): Newest {
  return (lists, limit) => {
    const found: number[] = []
    let below: number | undefined
    for (let count = checkedAtOnce; found.length < limit; count *= 2) {
      const ids = WordList.newest(lists, count, below)
      found.push(...allowedOf(ids))
      if (ids.length < count) break
      below = ids.at(-1)
    }
    return found.slice(0, limit)
  }
}

export function tablesOf(id: string): string {
  return `JOIN passage p ON p.id = ${id} JOIN source s ON s.id = p.source_id`
}

/** The sources that the filter allows; undefined for all of them. */
export function allowedSources(q: Queries, filter: SearchFilter): number[] | undefined {
  const { agentId, agentKind, repoPaths, channel, source, sessionIds, file, fileSessions } = filter
  const ofSource = { agentId, agentKind, repoPaths, channel, source, sessionIds, file, fileSessions }
  const { where, values } = conditions(ofSource)
  if (where === '') return undefined
  return q.all<{ id: number }>(`SELECT s.id FROM source s WHERE true ${where}`, ...values).map(({ id }) => id)
}

interface Few {
  /** Selects the ids of these passages. */
  sql: string
  values: string[]
  count: number
}

/** The passages of the allowed sources, or of the allowed time, if they are few. */
export function fewOf(q: Queries, filter: SearchFilter, times: PassageTimes): Few | undefined {
  return fewBySource(q, filter) ?? fewByTime(filter, times)
}

function fewBySource(q: Queries, filter: SearchFilter): Few | undefined {
  const sources = allowedSources(q, filter)
  if (!sources) return undefined
  const sql = 'SELECT id FROM passage WHERE source_id IN (SELECT value FROM json_each(?))'
  const values = [JSON.stringify(sources)]
  const limited = `SELECT count(*) AS count FROM (${sql} LIMIT ?)`
  const { count } = q.get<{ count: number }>(limited, ...values, fewAllowed + 1)!
  return count > fewAllowed ? undefined : { sql, values, count }
}

function fewByTime({ since }: SearchFilter, times: PassageTimes): Few | undefined {
  if (since === undefined) return undefined
  const ids = times.since(since)
  if (ids.length > fewAllowed) return undefined
  const values = [JSON.stringify([...ids])]
  return { sql: 'SELECT value AS id FROM json_each(?)', values, count: ids.length }
}
