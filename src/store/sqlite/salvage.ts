// Brings back what can be read of a damaged state database: a new one gets the rows of each table that can be read around the
// damage. The damaged file is set aside.
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { attempt } from '../../domain/errors.ts'
import { syncDirectory } from '../disk/atomic-file.ts'
import { pageBytes } from './damaged-pages.ts'
import { withWholeRecord } from './damaged-records.ts'
import { readDamagedTables } from './damaged-tables.ts'
import { Database, removeDatabase } from './database.ts'
import type { Row } from './queries.ts'
import { databaseSuffixes, refuseIfOpen, setDatabaseAside } from './set-aside.ts'
import { stateMigrations } from './state-database.ts'

export interface Salvaged {
  rows: number
  /** Rows that were found and cannot be right. */
  dropped: number
  /** Tables that could not be read to the end. */
  incomplete: string[]
  /** Where the damaged database is now. */
  aside: string
}

/** Rejects while another process has the database open. */
export async function rebuildStateDatabase(path: string): Promise<Salvaged> {
  refuseIfOpen(path)
  const [copy, rebuilt] = [`${path}.salvage`, `${path}.rebuilt`]
  removeDatabase(copy)
  removeDatabase(rebuilt)
  try {
    // The file is synced as a whole before it takes the place of the damaged one.
    const target = Database.open(rebuilt, stateMigrations, { durability: 'relaxed' })
    await target.emptyLog()
    writeFileSync(copy, '', { mode: 0o600 })
    for (const suffix of ['', '-wal'] as const)
      if (isFile(path + suffix)) copyFileSync(path + suffix, copy + suffix)
    if (existsSync(`${copy}-wal`)) addLog(copy, rebuilt)
    const found = await copyTables(copy, target)
    await target.emptyLog()
    await target.close()
    const aside = await setDatabaseAside(path)
    renameSync(rebuilt, path)
    await syncDirectory(dirname(path))
    return { ...found, aside }
  } finally {
    for (const suffix of databaseSuffixes) rmSync(copy + suffix, { force: true })
    removeDatabase(rebuilt)
  }
}

/** A folder in its place is set aside like a database of which nothing can be read. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

const headerBytes = 100

/** SQLite writes the pages of the log into the file, and skips what is damaged in the log. It opens only files with a valid
 *  header. */
function addLog(copy: string, model: string): void {
  // Of an empty file the log has only the pages that changed last, and not the schema.
  if (statSync(copy).size === 0) copyFileSync(model, copy)
  repairHeader(copy, model)
  const db = new DatabaseSync(copy, { defensive: false })
  // With a damaged schema the pragma fails, but has opened the log, which is then written when the database is closed.
  attempt(() => db.exec('PRAGMA writable_schema = ON; PRAGMA wal_checkpoint(TRUNCATE)'))
  db.close()
}

/** All our databases have the same header but for a few counters. */
function repairHeader(copy: string, model: string): void {
  const header = Buffer.alloc(headerBytes)
  const from = openSync(model, 'r')
  readSync(from, header, 0, headerBytes, 0)
  closeSync(from)
  header.writeUInt32BE(Math.ceil(statSync(copy).size / pageBytes), 28)
  // SQLite trusts the number of pages only if these two counters are the same.
  header.copy(header, 92, 24, 28)
  const to = openSync(copy, 'r+')
  // Which pages are free.
  readSync(to, header, 32, 8, 32)
  writeSync(to, header, 0, headerBytes, 0)
  closeSync(to)
}

/** One wrong bit could give a right to the wrong person, so a person must grant rights again. */
const tablesOfRights = ['grant_always', 'paired_person', 'pairing_request']

async function copyTables(copy: string, target: Database): Promise<Omit<Salvaged, 'aside'>> {
  const result = { rows: 0, dropped: 0, incomplete: [] as string[] }
  const found = target.read((q) => readDamagedTables(copy, q))
  const tables = target.read((q) =>
    q.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'"),
  )
  const isOurs = (name: string): boolean => !name.startsWith('sqlite_') && !tablesOfRights.includes(name)
  for (const { name } of tables.filter((table) => isOurs(table.name))) {
    const { rows, isComplete } = found.get(name)!
    if (!isComplete) result.incomplete.push(name)
    const stored = await storeRows(target, name, rows)
    result.rows += stored
    result.dropped += rows.length - stored
  }
  return result
}

/** Resolves to the number of stored rows. A row that breaks a rule of its table is dropped. */
function storeRows(target: Database, table: string, rows: Row[]): Promise<number> {
  return target.write((q) => {
    const known = q
      .all<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
      .map(({ name }) => name)
    let stored = 0
    for (const found of rows) {
      const row = hasValidJson(found) ? withWholeRecord(table, found) : undefined
      if (!row) continue
      const columns = known.filter((name) => row[name] !== undefined)
      const marks = columns.map(() => '?').join(', ')
      const names = columns.map((name) => `"${name}"`).join(', ')
      const values = columns.map((name) => row[name] as SQLInputValue)
      const add = (): unknown => q.run(`INSERT INTO "${table}" (${names}) VALUES (${marks})`, ...values)
      if (attempt(() => (add(), true))) stored++
    }
    return stored
  })
}

function hasValidJson(row: Row): boolean {
  const texts = [row['record'], row['message_ids']].filter((value) => typeof value === 'string')
  return texts.every((text) => attempt(() => (JSON.parse(text), true)) === true)
}
