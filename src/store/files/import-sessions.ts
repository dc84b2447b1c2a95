// Merges a sessions.json that another program wrote into the database, one key at a time. If only the file changed an entry, the
// file wins. If both sides changed it, the newer version wins, and the other is set aside in a file.
import { isDeepStrictEqual } from 'node:util'
import type { SessionEntry } from '../../domain/session.ts'
import type { Queries } from '../sqlite/queries.ts'
import { wholeEntry } from '../sqlite/entry-columns.ts'
import { keyFault } from '../session-rules.ts'
import { nextRevision, readRow, readStoreState, setAside, writeRow } from '../sqlite/session-table.ts'
import type { SessionsContent, InvalidEntry } from './sessions-text.ts'

export interface ImportReport {
  added: number
  changed: number
  removed: number
  /** Entries that are newer in the database, so that the file must be written again. */
  kept: number
  unusable: number
}

/** One merge, inside one transaction. `asOf` is the revision of the database when we last wrote the file. */
interface Merge {
  queries: Queries
  asOf: number
  now: number
  report: ImportReport
}

export function importSessions(
  queries: Queries,
  agentId: string | undefined,
  content: SessionsContent,
  now: number,
): ImportReport {
  const { mirror_revision: asOf } = readStoreState(queries)
  const report: ImportReport = { added: 0, changed: 0, removed: 0, kept: 0, unusable: 0 }
  const merge: Merge = { queries, asOf, now, report }
  const unusable = new Map(content.unusable)
  for (const [key, entry] of content.entries) {
    const fault = keyFault(agentId, key)
    if (fault) unusable.set(key, { raw: JSON.stringify(entry), fault })
    else takeEntry(merge, key, entry)
  }
  removeMissing(merge, content)
  keepUnusable(merge, unusable)
  markAsMirrored(merge, content)
  return report
}

function takeEntry(merge: Merge, key: string, theirs: SessionEntry): void {
  const { queries, asOf, now, report } = merge
  const row = readRow(queries, key)
  if (!row) {
    const deleted = queries.get<{ at: number }>('SELECT at FROM deleted_session WHERE key = ?', key)
    if (deleted && theirs.updatedAt <= deleted.at) return
    writeRow(queries, key, theirs, undefined, now)
    report.added++
    return
  }
  const ours = wholeEntry(row)
  if (isDeepStrictEqual(ours, theirs)) return
  const changedHere = row.revision > asOf
  if (changedHere && ours.updatedAt >= theirs.updatedAt) return
  if (changedHere) setAside(queries, key, JSON.stringify(ours), 'a newer one came from sessions.json', now)
  writeRow(queries, key, theirs, row, now)
  report.changed++
}

/** A program that could not read the file may have created a new one, so a very large number of removals is ignored. */
function removeMissing({ queries, asOf, now, report }: Merge, content: SessionsContent): void {
  const known = queries.all<{ key: string }>('SELECT key FROM session WHERE revision <= ?', asOf)
  const missing = known.filter(({ key }) => !content.entries.has(key) && !content.unusable.has(key))
  if (missing.length > 10 && missing.length > known.length / 2) return
  for (const { key } of missing) {
    const row = readRow(queries, key)!
    setAside(
      queries,
      key,
      JSON.stringify(wholeEntry(row)),
      'another program removed it from sessions.json',
      now,
    )
    queries.run('DELETE FROM session WHERE id = ?', row.id)
    report.removed++
  }
}

function keepUnusable({ queries, now, report }: Merge, unusable: Map<string, InvalidEntry>): void {
  queries.run('DELETE FROM unusable')
  for (const [key, { raw, fault }] of unusable) {
    if (readRow(queries, key)) setAside(queries, key, raw, `in sessions.json it ${fault}`, now)
    else queries.run('INSERT INTO unusable VALUES (?, ?, ?)', key, raw, fault)
    report.unusable++
  }
}

/** Marks the file as written by us, except for the rows that differ from it. */
function markAsMirrored({ queries, asOf, report }: Merge, content: SessionsContent): void {
  const revision = nextRevision(queries)
  const ahead = queries
    .all<{ key: string }>('SELECT key FROM session WHERE revision > ?', asOf)
    .filter(({ key }) => {
      const theirs = content.entries.get(key)
      return !theirs || !isDeepStrictEqual(wholeEntry(readRow(queries, key)!), theirs)
    })
  const notBelieved = queries
    .all<{ key: string }>('SELECT key FROM session WHERE revision <= ?', asOf)
    .filter(({ key }) => !content.entries.has(key))
  const deleted = queries
    .all<{ key: string }>('SELECT key FROM deleted_session')
    .filter(({ key }) => content.entries.has(key))
  queries.run('UPDATE store_state SET mirror_revision = ?', revision)
  report.kept = ahead.length + notBelieved.length + deleted.length
  if (report.kept === 0) return
  const next = nextRevision(queries)
  for (const { key } of [...ahead, ...notBelieved])
    queries.run('UPDATE session SET revision = ? WHERE key = ?', next, key)
}
