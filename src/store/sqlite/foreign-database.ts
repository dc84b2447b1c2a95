// Reads a SQLite database of another program without changing it: opened read-only, for one short read. Such a database may be in
// WAL mode with all rows still in the log, so the log is read, too; and where its folder does not allow that, a copy of both is.
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { RockpoolError } from '../../domain/errors.ts'
import { isFile } from '../disk/foreign-file.ts'

export type ForeignRows = (sql: string, ...values: SQLInputValue[]) => Iterable<Record<string, unknown>>

/** A reader waits only while the owner recovers its log. */
const busyMs = 500
const largestCopyBytes = 512 << 20

/** The owner keeps writing meanwhile: a reader of a WAL does not block writers, and a read-only connection never checkpoints. */
export function readForeignDatabase<T>(path: string, read: (rows: ForeignRows) => T): T {
  if (!isFile(path)) throw new RockpoolError('refused', `${path} is not a regular file.`)
  try {
    return readFrom(path, read)
  } catch (error) {
    if (!/unable to open|readonly|read-only/i.test(String(error))) throw error
    return readFromCopy(path, read, error)
  }
}

function readFrom<T>(path: string, read: (rows: ForeignRows) => T): T {
  const db = new DatabaseSync(path, { readOnly: true, timeout: busyMs })
  try {
    // One snapshot for all queries.
    db.exec('BEGIN')
    return read((sql, ...values) => db.prepare(sql).iterate(...values))
  } finally {
    db.close()
  }
}

/** Without write permission SQLite cannot make the shared memory that reading a log needs. */
function readFromCopy<T>(path: string, read: (rows: ForeignRows) => T, cause: unknown): T {
  const files = [path, `${path}-wal`].filter((file) => existsSync(file))
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  if (bytes > largestCopyBytes) throw cause
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-read-'))
  try {
    const copy = join(folder, 'copy.db')
    for (const file of files) copyFileSync(file, copy + file.slice(path.length))
    return readFrom(copy, read)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
