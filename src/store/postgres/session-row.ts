// One row of the sessions in PostgreSQL: how an entry becomes columns, and columns an entry again.
import type { SessionEntry } from '../../domain/session.ts'
import { bulkyFields } from '../../domain/session.ts'
import { searchTextOf } from '../session-rules.ts'

export interface Row {
  key: string
  entry: string
  bulk: string | null
  revision: number
}

/** What `put_session` takes after the revision. */
export function columnsOf(key: string, entry: SessionEntry): unknown[] {
  const lean: SessionEntry = { ...entry }
  const bulk: Record<string, unknown> = {}
  for (const field of bulkyFields) {
    if (entry[field] === undefined) continue
    bulk[field] = entry[field]
    // Keeps the field's place among the others.
    Object.assign(lean, { [field]: null })
  }
  return [
    storable(entry.sessionId),
    entry.updatedAt,
    typeof entry.archivedAt === 'number' ? entry.archivedAt : null,
    typeof entry.label === 'string' ? storable(entry.label) : null,
    typeof entry.spawnedBy === 'string' ? storable(entry.spawnedBy) : null,
    storable(searchTextOf(key, entry)),
    JSON.stringify(lean),
    Object.keys(bulk).length > 0 ? JSON.stringify(bulk) : null,
  ]
}

export function wholeEntry(row: Row): SessionEntry {
  const entry = JSON.parse(row.entry) as SessionEntry
  if (row.bulk !== null) Object.assign(entry, JSON.parse(row.bulk))
  return entry
}

/** Is this what the row holds? */
export function isWritten(row: Row, entry: SessionEntry): boolean {
  const [lean, bulk] = columnsOf(row.key, entry).slice(-2)
  return row.entry === lean && row.bulk === bulk
}

export function leanEntry(text: string): SessionEntry {
  const entry = JSON.parse(text) as SessionEntry
  for (const field of bulkyFields) delete entry[field]
  return entry
}

/** PostgreSQL's text holds no NUL; the entry itself keeps it, escaped. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
