// Creates the file of a database and brings its schema to this program's version. The schemas are the numbered files of sql/.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../domain/clock.ts'
import { errorCode, temporaryName } from '../disk/atomic-file.ts'
import { closeAtEnd } from '../disk/foreign-file.ts'
import { syncDirectoryNow } from '../disk/private-file.ts'
import { sqlFolder } from '../sql-files.ts'
import { DamagedContent, newerSchema } from './database-errors.ts'

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

/**
 * Creates the database if it is missing. It gets its schema under another name first, so a database that is found empty is not new:
 * it has lost its content.
 */
export function makeDatabase(path: string, migrations: Migration[]): void {
  // Beside the log of a removed database SQLite has to make the new one: only SQLite can tell whether that log is still in use.
  if (!existsSync(path) && !existsSync(`${path}-wal`)) createWithSchema(path, migrations)
  makeDatabaseFile(path)
}

function createWithSchema(path: string, migrations: Migration[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = temporaryName(path)
  try {
    makeDatabaseFile(temporary)
    writeSchema(temporary, migrations)
    linkSync(temporary, path)
    syncDirectoryNow(dirname(path))
  } catch (error) {
    // Another process made it meanwhile.
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Needs no journal: after a crash the file is removed as a leftover. */
function writeSchema(path: string, migrations: Migration[]): void {
  const db = new DatabaseSync(path, { allowExtension: true })
  try {
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF')
    migrate(db, path, migrations, false)
    db.exec('PRAGMA journal_mode = WAL')
  } finally {
    db.close()
  }
  const file = openSync(path, constants.O_RDONLY)
  using _ = closeAtEnd(file)
  fsyncSync(file)
}

/** SQLite makes a database within this time; the file is empty meanwhile. */
const creationMs = 2_000

export function refuseEmpty(path: string): void {
  const about = statSync(path, { throwIfNoEntry: false })
  if (about?.size !== 0) return
  const ageMs = systemClock.now() - about.mtimeMs
  if (ageMs >= 0 && ageMs < creationMs) throw new Error('SQLITE_BUSY: it is being created')
  throw new DamagedContent('it is empty')
}

/** Creates the file if it is missing, with mode 0600, independent of the umask. A symbolic link is not followed. */
function makeDatabaseFile(path: string): void {
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  fchmodSync(fd, 0o600)
  closeSync(fd)
}
