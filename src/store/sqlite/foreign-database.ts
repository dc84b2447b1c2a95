// Reads a SQLite database of another program without changing it: opened read-only, for one short read. Such a database may be in
// WAL mode with all rows still in the log, so the log is read, too; and where its folder does not allow that, a copy of both is.
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { RockpoolError } from '../../domain/errors.ts'
import { isFile, refuseOddDatabase } from '../disk/foreign-file.ts'

export type ForeignRows = (sql: string, ...values: SQLInputValue[]) => Iterable<Record<string, unknown>>

/** A reader waits only while the owner recovers its log. */
const busyMs = 500
const largestCopyBytes = 512 << 20

interface ForeignRead<T> {
  /** The tables that `read` names. */
  tables: readonly string[]
  read: (rows: ForeignRows) => T
}

/** The owner keeps writing meanwhile: a reader of a WAL does not block writers, and a read-only connection never checkpoints. */
export function readForeignDatabase<T>(path: string, asked: ForeignRead<T>): T {
  if (!isFile(path)) throw new RockpoolError('refused', `${path} is not a regular file.`)
  refuseOddDatabase(path)
  try {
    return readFrom(path, asked)
  } catch (error) {
    if (!/unable to open|readonly|read-only/i.test(String(error))) throw error
    return readFromCopy(path, asked, error)
  }
}

/** Throws `refused` if the rows of one of these tables are not stored but computed by a query, a module or an expression. The author of
 *  the database chose it, and it may never end. */
export function refuseComputed(path: string, tables: readonly string[], rows: ForeignRows): void {
  const computed = computedTables(rows)
  const table = tables.find((name) => computed.has(name))
  if (table !== undefined)
    throw new RockpoolError(
      'refused',
      `${path} has a view in place of the table ${table}, or computes its values.`,
    )
}

/** Views, virtual tables (one of full-text search may read a view), and tables with a column that is computed when it is read; in
 *  lower case. */
export function computedTables(rows: ForeignRows): ReadonlySet<string> {
  const found = rows(
    `SELECT name FROM pragma_table_list AS listed WHERE type IN ('view', 'virtual')
       OR EXISTS (SELECT 1 FROM pragma_table_xinfo(listed.name) WHERE hidden = 2)`,
  )
  return new Set([...found].map(({ name }) => String(name).toLowerCase()))
}

/** Longer values are not read: no program writes such long texts on purpose, and they would fill the memory. */
export const longestValueBytes = 64 << 20

/** The value of a column, as SQL; null if it is too long. SQLite tells the length without reading the value. */
export function boundedColumn(name: string): string {
  return `iif(octet_length(${name}) > ${longestValueBytes}, NULL, ${name})`
}

function readFrom<T>(path: string, { tables, read }: ForeignRead<T>): T {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyMs })
  try {
    // One snapshot for all queries.
    db.exec('BEGIN')
    const rows: ForeignRows = (sql, ...values) => db.prepare(sql).iterate(...values)
    refuseComputed(path, tables, rows)
    return read(rows)
  } finally {
    db.close()
  }
}

/** Without write permission SQLite cannot make the shared memory that reading a log needs. */
function readFromCopy<T>(path: string, asked: ForeignRead<T>, cause: unknown): T {
  const files = [path, `${path}-wal`].filter((file) => existsSync(file))
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  if (bytes > largestCopyBytes) throw cause
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-read-'))
  try {
    const copy = join(folder, 'copy.db')
    for (const file of files) copyFileSync(file, copy + file.slice(path.length))
    return readFrom(copy, asked)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
