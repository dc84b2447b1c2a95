// Session rows in PostgreSQL: how an entry becomes columns, and many rows written in one transaction. Copies use that, because
// one round trip per row would take hours.
import type { SessionEntry } from '../../domain/session.ts'
import { splitEntry, wholeEntry } from '../sqlite/entry-columns.ts'
import { checkEntry, checkKey, searchTextOf } from '../session-rules.ts'
import type { Update } from '../session-store.ts'
import type { Postgres, Statements } from './connection.ts'
import { storable } from './sql.ts'

export interface SessionRow {
  key: string
  entry: string
  bulk: string | null
  revision: number
}

/** The arguments of the function `put_session` after the revision. */
export function columnsOf(key: string, entry: SessionEntry, { lean, bulk } = splitEntry(entry)): unknown[] {
  return [
    storable(entry.sessionId),
    entry.updatedAt,
    typeof entry.archivedAt === 'number' ? entry.archivedAt : null,
    typeof entry.label === 'string' ? storable(entry.label) : null,
    typeof entry.spawnedBy === 'string' ? storable(entry.spawnedBy) : null,
    storable(searchTextOf(key, entry)),
    lean,
    bulk,
  ]
}

export function isWritten(row: SessionRow, entry: SessionEntry): boolean {
  const { lean, bulk } = splitEntry(entry)
  return row.entry === lean && row.bulk === bulk
}

interface Planned {
  place: number
  key: string
  before: SessionEntry | undefined
  after: SessionEntry
  revision: number
}

export type Written = Map<number, { entry: SessionEntry | undefined }>

/** Resolves to the updates that were written, by their index in `updates`. The caller retries the others one by one. */
export async function putAll(postgres: Postgres, agentId: string, updates: Update[]): Promise<Written> {
  return postgres.transaction(async (statements) => {
    const done: Written = new Map()
    const planned = plan(updates, await rowsOf(statements, agentId, updates), agentId, done)
    const free = await withFreeLabels(statements, agentId, planned)
    for (const { place, after } of await put(statements, postgres.member, agentId, free))
      done.set(place, { entry: after })
    return done
  })
}

async function rowsOf(
  { rows }: Statements,
  agentId: string,
  updates: Update[],
): Promise<Map<string, SessionRow>> {
  const sql = 'SELECT key, entry, bulk, revision FROM session WHERE agent = $1 AND key = ANY ($2)'
  const found = await rows<SessionRow>(sql, [agentId, updates.map(({ key }) => storable(key))])
  return new Map(found.map((row) => [row.key, row]))
}

/** What each update writes. An update without a change is done; a second update of a key is left to the caller. */
function plan(updates: Update[], rows: Map<string, SessionRow>, agentId: string, done: Written): Planned[] {
  const seen = new Set<string>()
  return updates.flatMap(({ key, change }, place) => {
    if (seen.has(key)) return []
    seen.add(key)
    try {
      checkKey(agentId, key)
      const row = rows.get(key)
      const before = row && wholeEntry(row)
      const after = change(row && wholeEntry(row))
      if (after === undefined) {
        done.set(place, { entry: before })
        return []
      }
      checkEntry(key, after)
      return [{ place, key, before, after, revision: row?.revision ?? 0 }]
    } catch {
      // The caller retries it alone and gets the error.
      return []
    }
  })
}

/** Rows whose label is unique, in the table and in the batch. */
async function withFreeLabels({ rows }: Statements, agentId: string, planned: Planned[]): Promise<Planned[]> {
  const wants = ({ before, after }: Planned): boolean => !!after.label && after.label !== before?.label
  const labels = [...new Set(planned.filter(wants).map(({ after }) => storable(after.label!)))].sort()
  if (labels.length === 0) return planned
  await rows(
    'SELECT pg_advisory_xact_lock(hashtext($1), h) FROM (SELECT DISTINCT hashtext(l) AS h FROM unnest($2::text[]) AS l ORDER BY 1) AS x',
    [agentId, labels],
  )
  const sql = 'SELECT key, label FROM session WHERE agent = $1 AND label = ANY ($2)'
  const owners = await rows<{ key: string; label: string }>(sql, [agentId, labels])
  const ownerOf = new Map(owners.map(({ key, label }) => [label, key]))
  return planned.filter((one) => {
    if (!wants(one)) return true
    const label = storable(one.after.label!)
    const owner = ownerOf.get(label) ?? one.key
    ownerOf.set(label, owner)
    return owner === one.key
  })
}

/** Rows that were written, without a conflicting write. */
async function put(
  { rows }: Statements,
  member: string | null,
  agentId: string,
  planned: Planned[],
): Promise<Planned[]> {
  if (planned.length === 0) return []
  const lines = planned.map(({ key, after, revision }) => [key, revision, ...columnsOf(key, after)])
  const columns = lines[0]!.map((_, n) => lines.map((line) => line[n]))
  const answers = await rows<{ done: boolean }>(
    `SELECT put_session($1, $2, g.key, g.known, g.its_id, g.changed, g.archived, g.label, g.parent, g.words, g.lean, g.bulk)
       AS done
     FROM unnest($3::text[], $4::bigint[], $5::text[], $6::float8[], $7::float8[], $8::text[], $9::text[], $10::text[],
       $11::text[], $12::text[]) WITH ORDINALITY
       AS g (key, known, its_id, changed, archived, label, parent, words, lean, bulk, place) ORDER BY g.place`,
    [member, agentId, ...columns],
  )
  return planned.filter((_, n) => answers[n]!.done)
}
