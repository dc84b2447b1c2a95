// The tables of a session database, and how one session is read, written and removed.
import type { SQLInputValue } from 'node:sqlite'
import type { SessionEntry } from '../../domain/session.ts'
import type { FileIdentity } from '../disk/atomic-file.ts'
import { DamagedContent } from './database-errors.ts'
import { type Database } from './database.ts'
import { insertRow, type Queries } from './queries.ts'
import { sqlFiles } from './migrations.ts'
import { bulkChecksumOf, checksumOf, splitEntry, type StoredEntry } from './entry-columns.ts'
import { searchTextOf } from '../session-rules.ts'
import { placeholders } from '../tables/sql-database.ts'

export const sessionMigrations = sqlFiles(
  'sessions/001-sessions.sql',
  'sessions/002-checksums.sql',
  'sessions/003-counts.sql',
)

export interface SessionRow extends StoredEntry {
  id: number
  revision: number
}

/** Without the bulky fields. */
export type LeanRow = Pick<SessionRow, 'key' | 'entry' | 'checksum'>

export const leanRow = 'SELECT key, entry, checksum FROM session'

export interface StoreState {
  revision: number
  mirror_revision: number
  mirror_identity: FileIdentity | null
}

export const wholeRow = `SELECT session.id, key, revision, entry, session.checksum AS checksum, fields AS bulk,
  session_bulk.checksum AS bulkChecksum
  FROM session LEFT JOIN session_bulk ON session_bulk.id = session.id`

export function readRow(queries: Queries, key: string): SessionRow | undefined {
  return queries.get<SessionRow>(`${wholeRow} WHERE key = ?`, key)
}

/** All rows, a few at a time: updates happen between two pages. */
export function* pagesOf(db: Database, size: number): Generator<SessionRow[]> {
  const sql = `${wholeRow} WHERE session.id > ? ORDER BY session.id LIMIT ?`
  for (let last = 0; ;) {
    const rows = db.read((q) => q.all<SessionRow>(sql, last, size))
    if (rows.length === 0) return
    yield rows
    last = rows.at(-1)!.id
  }
}

const columns = [
  'key',
  'session_id',
  'updated_at',
  'archived_at',
  'label',
  'spawned_by',
  'search_text',
  'revision',
  'entry',
  'checksum',
] as const
type SessionColumns = Record<(typeof columns)[number], SQLInputValue> & { revision: number }
const upsert = `INSERT INTO session (${columns.join(', ')}) VALUES (${placeholders(columns)}) ON CONFLICT (key) DO UPDATE
  SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')} RETURNING id`

/** Most updates leave the other columns as they are: then their indexes are not written. */
const updateIndexedByTime = `UPDATE session SET updated_at = ?, search_text = ?, revision = ?, entry = ?, checksum = ?
  WHERE id = ? AND session_id = ? AND archived_at IS ? AND label IS ? AND spawned_by IS ?`

/** Writes the row and returns it; the bulky fields only if they differ from `before`. */
export function writeRow(
  queries: Queries,
  key: string,
  entry: SessionEntry,
  before: SessionRow | undefined,
  now: number,
): SessionRow {
  const { lean, bulk } = splitEntry(entry)
  const row: SessionColumns = {
    key,
    session_id: entry.sessionId,
    updated_at: entry.updatedAt,
    archived_at: numberOrNull(entry.archivedAt),
    label: textOrNull(entry.label),
    spawned_by: textOrNull(entry.spawnedBy),
    search_text: searchTextOf(key, entry),
    revision: nextRevision(queries),
    entry: lean,
    checksum: checksumOf(key, lean),
  }
  const id = (before && updateRow(queries, before.id, row)) ?? upsertRow(queries, row)
  if (bulk === null && before?.bulk) queries.run('DELETE FROM session_bulk WHERE id = ?', id)
  else if (bulk !== null && bulk !== before?.bulk)
    insertRow(queries, 'session_bulk', { id, fields: bulk, checksum: bulkChecksumOf(bulk) })
  if (!before) replaceFormer(queries, key, now)
  // Without checksums: they are for what was read from the disk.
  return { id, key, revision: row.revision, entry: lean, bulk }
}

/** Undefined if it changes more than the time and the content. */
function updateRow(queries: Queries, id: number, row: SessionColumns): number | undefined {
  const { updated_at: at, search_text: text, revision, entry, checksum } = row
  const { session_id: sessionId, archived_at: archivedAt, label, spawned_by: spawnedBy } = row
  const same = [id, sessionId, archivedAt, label, spawnedBy]
  const { changes } = queries.run(updateIndexedByTime, at, text, revision, entry, checksum, ...same)
  return changes === 1 ? id : undefined
}

function upsertRow(queries: Queries, row: SessionColumns): number {
  return queries.get<{ id: number }>(upsert, ...columns.map((name) => row[name]))!.id
}

export function removeRow(queries: Queries, key: string, now: number): void {
  queries.run('DELETE FROM session WHERE key = ?', key)
  queries.run('INSERT OR REPLACE INTO deleted_session VALUES (?, ?, ?)', key, nextRevision(queries), now)
}

export function setAside(queries: Queries, key: string, value: string, why: string, now: number): void {
  queries.run('INSERT INTO set_aside (key, value, why, at) VALUES (?, ?, ?, ?)', key, value, why, now)
}

export function nextRevision(queries: Queries): number {
  const counter = queries.shared('revision', () => {
    let { revision } = readStoreState(queries)
    return {
      next: () => ++revision,
      finish: () => void queries.run('UPDATE store_state SET revision = ?', revision),
    }
  })
  return counter.next()
}

export function readStoreState(queries: Queries): StoreState {
  const state = queries.get<StoreState>('SELECT * FROM store_state')
  if (!state) throw new DamagedContent('the row of store_state is missing')
  return state
}

/** Removes the traces of a deleted or unusable entry with the same key. */
function replaceFormer(queries: Queries, key: string, now: number): void {
  queries.run('DELETE FROM deleted_session WHERE key = ?', key)
  const sql = 'DELETE FROM unusable WHERE key = ? RETURNING raw, fault'
  const old = queries.get<{ raw: string; fault: string }>(sql, key)
  if (old) setAside(queries, key, old.raw, `it ${old.fault}, and a new entry replaced it`, now)
}

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null)
