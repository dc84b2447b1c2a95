// Creates the file of a database and brings its schema to this program's version. The schemas are the numbered files of sql/.
import { closeSync, constants, existsSync, fchmodSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncDirectoryNow } from '../disk/private-file.ts'
import { sqlFolder } from '../sql-files.ts'
import { newerSchema } from './database-errors.ts'

/** Number n brings a database from version n - 1 to version n. A released migration never changes. */
export type Migration = string | (() => string)

/** Files of sqlite/sql/ as migrations; they are read when a database needs them. */
export function sqlFiles(...names: string[]): Migration[] {
  return names.map((name) => () => readFileSync(new URL(name, sqlFolder('sqlite')), 'utf8'))
}

/** `isCopied`: a copy of the database before the migration is kept. */
export function migrate(db: DatabaseSync, path: string, migrations: Migration[], isCopied: boolean): void {
  const version = versionOf(db)
  if (version === migrations.length) return
  if (version > migrations.length) throw newerSchema(path, version, migrations.length)
  if (version > 0 && isCopied) backUp(db, path, version)
  db.exec('BEGIN IMMEDIATE')
  // Another process may have migrated while we waited for the lock.
  for (let next = versionOf(db); next < migrations.length; next++) {
    const migration = migrations[next]!
    db.exec(typeof migration === 'string' ? migration : migration())
  }
  db.exec(`PRAGMA user_version = ${migrations.length}; COMMIT`)
}

function versionOf(db: DatabaseSync): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}

function backUp(db: DatabaseSync, path: string, version: number): void {
  const copy = `${path}.before-migration-${version}`
  if (path === ':memory:' || existsSync(copy)) return
  // Into an empty private file; SQLite copies a consistent snapshot while others write.
  makeDatabaseFile(copy)
  db.prepare('VACUUM INTO ?').run(copy)
}

/** Creates the file if it is missing, with mode 0600, independent of the umask. A symbolic link is not followed. */
export function makeDatabaseFile(path: string): void {
  const isNew = !existsSync(path)
  if (isNew) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  fchmodSync(fd, 0o600)
  closeSync(fd)
  if (isNew) syncDirectoryNow(dirname(path))
}
