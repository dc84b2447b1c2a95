// Brings back what can be read of a damaged state database. SQLite refuses a file with one wrong byte in its header or its
// schema, so a copy gets the header and the schema that this program knows; then each table is read around the damage. The
// damaged file is set aside.
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { attempt } from '../../domain/errors.ts'
import { syncDirectory } from '../disk/atomic-file.ts'
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
    const schema = target.read((q) => q.all<SchemaRow>('SELECT type, name, tbl_name, sql FROM sqlite_schema'))
    await target.emptyLog()
    for (const suffix of ['', '-wal'] as const)
      if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
    repairHeader(copy, rebuilt)
    repairSchema(copy, schema)
    const found = await copyTables(copy, target, schema)
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

interface SchemaRow {
  type: string
  name: string
  tbl_name: string
  sql: string | null
}

const headerBytes = 100
const pageBytes = 4096

/** All our databases have the same header but for a few counters. */
function repairHeader(copy: string, model: string): void {
  const header = Buffer.alloc(headerBytes)
  const from = openSync(model, 'r')
  readSync(from, header, 0, headerBytes, 0)
  closeSync(from)
  header.writeUInt32BE(Math.ceil(statSync(copy).size / pageBytes), 28)
  // No free pages: they hold nothing that is still wanted.
  header.fill(0, 32, 40)
  // SQLite trusts the number of pages only if these two counters are the same.
  header.copy(header, 92, 24, 28)
  const to = openSync(copy, 'r+')
  writeSync(to, header, 0, headerBytes, 0)
  closeSync(to)
}

/** Opens a file that SQLite would refuse: entries of the schema that cannot be parsed are skipped. */
function openDamaged(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { defensive: false })
  db.exec('PRAGMA writable_schema = ON; PRAGMA cell_size_check = ON')
  return db
}

/** An entry of the schema with wrong bytes becomes the known entry that it resembles most. */
function repairSchema(copy: string, known: SchemaRow[]): void {
  const db = openDamaged(copy)
  const unmatched = new Map(known.map((row) => [row.name, row]))
  const damaged: Array<SchemaRow & { rowid: bigint }> = []
  for (const row of readTable(db, 'sqlite_schema', false).rows) {
    const { name, tbl_name, type, sql } = row as unknown as SchemaRow
    const model = unmatched.get(name)
    if (model && model.type === type && model.tbl_name === tbl_name && model.sql === sql)
      unmatched.delete(name)
    else damaged.push({ name, tbl_name, type, sql, rowid: row['_rowid'] as bigint })
  }
  for (const row of damaged) {
    const model = mostAlike(row, [...unmatched.values()])
    if (!model) continue
    unmatched.delete(model.name)
    const update = 'UPDATE sqlite_schema SET type = ?, name = ?, tbl_name = ?, sql = ? WHERE rowid = ?'
    attempt(() => db.prepare(update).run(model.type, model.name, model.tbl_name, model.sql, row.rowid))
  }
  db.close()
}

/** Three of four characters are the same, at least. */
function mostAlike(row: SchemaRow, known: SchemaRow[]): SchemaRow | undefined {
  const text = textOf(row)
  const ranked = known.map((model) => ({ model, likeness: likeness(text, textOf(model)) }))
  const best = ranked.toSorted((a, b) => b.likeness - a.likeness)[0]
  return best && best.likeness > 0.75 ? best.model : undefined
}

function textOf({ type, name, tbl_name, sql }: SchemaRow): string {
  return [type, name, tbl_name, sql].join(' ')
}

function likeness(a: string, b: string): number {
  const length = Math.max(a.length, b.length)
  let same = 0
  for (let i = 0; i < length; i++) if (a[i] === b[i]) same++
  return same / length
}

/** One wrong bit could give a right to the wrong person, so rights are given again by a person. */
const tablesOfRights = ['grant_always', 'paired_person', 'pairing_request']

async function copyTables(
  copy: string,
  target: Database,
  schema: SchemaRow[],
): Promise<Omit<Salvaged, 'aside'>> {
  const source = openDamaged(copy)
  const result = { rows: 0, dropped: 0, incomplete: [] as string[] }
  const tables = schema.filter(
    ({ type, name }) => type === 'table' && !name.startsWith('sqlite_') && !tablesOfRights.includes(name),
  )
  for (const { name, sql } of tables) {
    const { rows, isComplete } = readTable(source, name, /WITHOUT ROWID/.test(sql ?? ''))
    if (!isComplete) result.incomplete.push(name)
    const stored = await storeRows(target, name, rows)
    result.rows += stored
    result.dropped += rows.length - stored
  }
  source.close()
  return result
}

interface ReadRows {
  rows: Row[]
  /** False if a part of the table could not be read. */
  isComplete: boolean
}

/** From the start and from the end, because a scan stops at the first damaged page. */
function readTable(db: DatabaseSync, table: string, withoutRowid: boolean): ReadRows {
  const columns = withoutRowid ? '*' : 'rowid AS _rowid, *'
  const order = attempt(() => keyColumns(db, table, withoutRowid))
  if (!order) return { rows: [], isComplete: false }
  const scan = (direction: 'ASC' | 'DESC'): ReadRows => {
    const by = order.map((column) => `${column} ${direction}`).join(', ')
    return readUntilDamage(db, `SELECT ${columns} FROM "${table}" NOT INDEXED ORDER BY ${by}`)
  }
  const first = scan('ASC')
  if (first.isComplete) return first
  const seen = new Set(first.rows.map((row) => keyOf(row, order)))
  const last = scan('DESC').rows.filter((row) => !seen.has(keyOf(row, order)))
  if (withoutRowid) return { rows: [...first.rows, ...last], isComplete: false }
  const between = readBetween(db, table, numberOf(first.rows.at(-1)), numberOf(last.at(-1)))
  return { rows: [...first.rows, ...between, ...last], isComplete: false }
}

function keyColumns(db: DatabaseSync, table: string, withoutRowid: boolean): string[] {
  if (!withoutRowid) return ['_rowid']
  const about = db.prepare('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk').all(table)
  return about.map(({ name }) => `"${String(name)}"`)
}

function keyOf(row: Row, columns: string[]): string {
  return columns.map((column) => String(row[column.replaceAll('"', '')])).join('\0')
}

const numberOf = (row: Row | undefined): bigint | undefined => row?.['_rowid'] as bigint | undefined

/** Leaps over damaged pages, each leap twice as long as the one before. */
function readBetween(
  db: DatabaseSync,
  table: string,
  after: bigint | undefined,
  before: bigint | undefined,
): Row[] {
  const rows: Row[] = []
  if (before === undefined) return rows
  const sql = `SELECT rowid AS _rowid, * FROM "${table}" NOT INDEXED WHERE rowid > ? AND rowid < ? ORDER BY rowid`
  let leap = 1n
  for (let from = after ?? 0n, tries = 0; from < before - 1n && tries < 10_000; tries++) {
    const found = readUntilDamage(db, sql, from, before)
    rows.push(...found.rows)
    if (found.isComplete) break
    leap = found.rows.length > 0 ? 1n : leap * 2n
    from = (numberOf(found.rows.at(-1)) ?? from) + leap
  }
  return rows
}

function readUntilDamage(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): ReadRows {
  const rows: Row[] = []
  try {
    const statement: StatementSync = db.prepare(sql)
    // A damaged number may be larger than JavaScript can represent.
    statement.setReadBigInts(true)
    for (const row of statement.iterate(...values)) rows.push(row)
    return { rows, isComplete: true }
  } catch {
    return { rows, isComplete: false }
  }
}

/** Resolves to the number of stored rows. A row that breaks a rule of its table is dropped. */
function storeRows(target: Database, table: string, rows: Row[]): Promise<number> {
  return target.write((q) => {
    const known = q
      .all<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
      .map(({ name }) => name)
    let stored = 0
    for (const row of rows) {
      if (!hasValidJson(row)) continue
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
