// A session entry in two columns, in SQLite and in PostgreSQL: the lean part, which every list reads, and the bulky fields.
import { crc32 } from 'node:zlib'
import { RockpoolError } from '../../domain/errors.ts'
import { bulkyFields, type SessionEntry } from '../../domain/session.ts'
import { damagedHint } from '../../domain/json.ts'

/** An entry as a row holds it. Rows of PostgreSQL, and of SQLite before checksums, have no checksums. */
export interface StoredEntry {
  key: string
  entry: string
  bulk: string | null
  checksum?: number | null
  bulkChecksum?: number | null
}

export function splitEntry(entry: SessionEntry): { lean: string; bulk: string | null } {
  const lean: Record<string, unknown> = { ...entry }
  let bulk: Record<string, unknown> | undefined
  for (const field of bulkyFields) {
    if (entry[field] === undefined) continue
    bulk ??= {}
    bulk[field] = entry[field]
    // Keeps the order of the fields.
    lean[field] = null
  }
  return { lean: JSON.stringify(lean), bulk: bulk === undefined ? null : JSON.stringify(bulk) }
}

/** The entry as it was stored, with its fields in their order. Throws `damaged` if a byte of the row changed. */
export function wholeEntry(row: StoredEntry): SessionEntry {
  const entry = parseEntry(row)
  if (row.bulk === null) {
    // In the lean part, null stands for a field that the other part has.
    if (bulkyFields.some((field) => entry[field] === null))
      throw damagedEntry(row.key, 'its large fields are missing')
    return entry
  }
  checkSum(row.key, row.bulkChecksum, () => bulkChecksumOf(row.bulk!))
  return Object.assign(entry, parseColumn(row.key, row.bulk))
}

/** Fields are set to undefined, not deleted: an object with a deleted field is slow to read and to serialize. */
export function leanEntry(row: Omit<StoredEntry, 'bulk'>): SessionEntry {
  const entry = parseEntry(row)
  for (const field of bulkyFields) if (entry[field] !== undefined) entry[field] = undefined
  return entry
}

/** SQLite notices damaged pages, but not a changed byte inside a text. */
export function checksumOf(key: string, lean: string): number {
  return crc32(key + lean)
}

export function bulkChecksumOf(bulk: string): number {
  return crc32(bulk)
}

function parseEntry({ key, entry, checksum }: Omit<StoredEntry, 'bulk'>): SessionEntry {
  checkSum(key, checksum, () => checksumOf(key, entry))
  return parseColumn(key, entry) as SessionEntry
}

function checkSum(key: string, stored: number | null | undefined, actual: () => number): void {
  if (typeof stored === 'number' && stored !== actual()) throw damagedEntry(key, 'its checksum is wrong')
}

function parseColumn(key: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw damagedEntry(key, 'it is not JSON', error)
  }
  throw damagedEntry(key, 'it is not an object')
}

function damagedEntry(key: string, why: string, cause?: unknown): RockpoolError {
  return new RockpoolError('damaged', `The stored entry of session ${key} is damaged: ${why}.`, {
    hint: damagedHint,
    cause,
  })
}
