// An entry in two columns: the lean part, which every list reads, and the bulky fields beside it. The same in SQLite and
// in PostgreSQL.
import type { SessionEntry } from '../../domain/session.ts'
import { bulkyFields } from '../../domain/session.ts'

export function splitEntry(entry: SessionEntry): { lean: string; bulk: string | null } {
  const lean: SessionEntry = { ...entry }
  const bulk: Record<string, unknown> = {}
  for (const field of bulkyFields) {
    if (entry[field] === undefined) continue
    bulk[field] = entry[field]
    // Keeps the field's place among the others.
    Object.assign(lean, { [field]: null })
  }
  return { lean: JSON.stringify(lean), bulk: Object.keys(bulk).length > 0 ? JSON.stringify(bulk) : null }
}

/** The entry as it was stored, its fields in the order that they had. */
export function wholeEntry(row: { entry: string; bulk: string | null }): SessionEntry {
  const entry = JSON.parse(row.entry) as SessionEntry
  if (row.bulk !== null) Object.assign(entry, JSON.parse(row.bulk))
  return entry
}

/** Set to undefined, not deleted: an object that has lost a field is slow to read and to write out ever after. */
export function leanEntry(text: string): SessionEntry {
  const entry = JSON.parse(text) as SessionEntry
  for (const field of bulkyFields) if (entry[field] !== undefined) entry[field] = undefined
  return entry
}
