// One row of the sessions in PostgreSQL: how an entry becomes columns.
import type { SessionEntry } from '../../domain/session.ts'
import { splitEntry } from '../sqlite/entry-columns.ts'
import { searchTextOf } from '../session-rules.ts'

export interface Row {
  key: string
  entry: string
  bulk: string | null
  revision: number
}

/** What `put_session` takes after the revision. */
export function columnsOf(key: string, entry: SessionEntry): unknown[] {
  const { lean, bulk } = splitEntry(entry)
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

/** Is this what the row holds? */
export function isWritten(row: Row, entry: SessionEntry): boolean {
  const { lean, bulk } = splitEntry(entry)
  return row.entry === lean && row.bulk === bulk
}

/** PostgreSQL's text holds no NUL; the entry itself keeps it, escaped. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
