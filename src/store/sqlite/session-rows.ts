// The rows of one session in the database of opencode, as text: a line with the tables of the database, then a line for each row.
// The vault keeps this text like a file, and writes the rows into the database again after the session was deleted.
import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { RockpoolError } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import { refuseOddDatabase } from '../disk/foreign-file.ts'
import {
  computedTables,
  longestValueBytes,
  readForeignDatabase,
  refuseComputed,
  type ForeignRows,
} from './foreign-database.ts'

export interface RowsPlace {
  database: string
  sessionId: string
}

/** `<database>#<session id>`, as discovery names a session that consists of rows; undefined for the path of a file. */
export function rowsPlace(path: string): RowsPlace | undefined {
  const [, database, sessionId] = /^(.+\.db)#([^/#]+)$/.exec(path) ?? []
  return database === undefined || sessionId === undefined ? undefined : { database, sessionId }
}

/** When the rows last changed, and how many there are: two equal answers mean that nothing has changed. */
interface RowsState {
  changedAt: number
  count: number
}

/** Undefined if the database does not have the session. */
export function rowsState({ database, sessionId }: RowsPlace): RowsState | undefined {
  return readDatabase(database, (rows) => {
    if (!hasSession(rows, sessionId)) return undefined
    const state = { changedAt: 0, count: 0 }
    for (const { name, key, columns } of tablesOf(rows)) {
      if (!isOwn(key)) continue
      const time = columns.includes('time_updated') ? 'max(time_updated)' : '0'
      const longest = columns.map((column) => `coalesce(max(octet_length("${column}")), 0)`).join(' + ')
      const [row] = rows(
        `SELECT count(*) AS count, ${time} AS at, ${longest} AS longest FROM "${name}" WHERE "${key.column}" = ?`,
        sessionId,
      )
      if (Number(row?.['longest']) > longestValueBytes)
        throw new RockpoolError('refused', `The rows of ${sessionId} in ${database} are too long to be kept.`)
      state.count += Number(row?.['count'])
      state.changedAt = Math.max(state.changedAt, Number(row?.['at']))
    }
    return state
  })
}

/** The other tables are found by their type. */
const tablesByName = ['session', 'message', 'part']

function readDatabase<T>(database: string, read: (rows: ForeignRows) => T): T | undefined {
  return existsSync(database) ? readForeignDatabase(database, { tables: tablesByName, read }) : undefined
}

/** The ids of all sessions in a database; undefined if it cannot be read now. */
export function sessionsIn(database: string): ReadonlySet<string> | undefined {
  if (!existsSync(database)) return new Set()
  try {
    return readDatabase(
      database,
      (rows) => new Set([...rows('SELECT id FROM session')].map(({ id }) => String(id))),
    )
  } catch {
    // Discovery reports a database that cannot be read.
    return undefined
  }
}

/** Undefined if the database does not have the session. The same rows always give the same text. */
export function readRows({ database, sessionId }: RowsPlace): Buffer | undefined {
  return readDatabase(database, (rows) => {
    if (!hasSession(rows, sessionId)) return undefined
    return Buffer.concat([...textOf(rows, sessionId)].map((line) => Buffer.from(`${line}\n`)))
  })
}

/** `same`: the rows were there already. `longer`: newer ones were. `different`: other ones were. They are never changed. */
type RowsOutcome = 'restored' | 'same' | 'longer' | 'different'

/** Writes the rows in one transaction, unless the database has the session. A database that is missing is made. */
export function writeRows(place: RowsPlace, text: Buffer): RowsOutcome {
  const [head, ...rows] = parse(text)
  const { database, sessionId } = place
  if (!existsSync(database)) {
    mkdirSync(dirname(database), { recursive: true, mode: 0o700 })
    closeSync(openSync(database, 'wx', 0o600))
  }
  refuseOddDatabase(database)
  const db = new DatabaseSync(database, { timeout: busyMs })
  try {
    db.exec('BEGIN IMMEDIATE')
    // A row may come before the one that it refers to.
    db.exec('PRAGMA defer_foreign_keys = ON')
    const reader: ForeignRows = (sql, ...values) => db.prepare(sql).iterate(...values)
    refuseComputed(database, tablesByName, reader)
    const isEmpty = [...reader('SELECT 1 FROM sqlite_master LIMIT 1')].length === 0
    if (!isEmpty && hasSession(reader, sessionId)) return compareRows(reader, sessionId, text)
    // One statement each, of these kinds only: the copy of another machine may be forged.
    if (isEmpty) for (const sql of head.schema) if (madeBy.test(sql)) db.prepare(sql).run()
    const tables = tablesOf(reader)
    const known = new Map(tables.map(({ name, columns }) => [name, columns]))
    const own = ownRows(rows, sessionId, tables)
    const migrations = isEmpty ? head.migrations.filter(([name]) => migrationTables.has(name)) : []
    for (const row of [...migrations, ...own]) insert(db, row, known)
    db.exec('COMMIT')
    return 'restored'
  } catch (error) {
    throw asRowsError(error, database)
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK')
    db.close()
  }
}

const busyMs = 5_000
/** A table with its columns, or an index: no `CREATE TABLE … AS`, which runs a query. */
const madeBy = /^CREATE (?:TABLE\s+(?:`[^`]+`|"[^"]+"|\w+)\s*\(|(?:UNIQUE )?INDEX\b)/

interface Key {
  column: string
  /** The row of the session that has the wanted value; undefined for the id of the session. */
  from?: 'project_id' | 'workspace_id'
}

interface Table {
  name: string
  columns: string[]
  order: string
  key: Key | undefined
}

/** Tables that tell which changes were made to the database itself. */
const migrationTables = new Set(['migration', 'data_migration', '__drizzle_migrations'])

function tablesOf(rows: ForeignRows): Table[] {
  const names = [
    ...rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"),
  ].map(({ name }) => String(name))
  const computed = computedTables(rows)
  const stored = names.filter((name) => !computed.has(name.toLowerCase()))
  return stored.map((name) => {
    const info = [...rows('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid', name)]
    const columns = info.map((column) => String(column['name']))
    const primary = info.filter(({ pk }) => Number(pk) > 0).sort((a, b) => Number(a['pk']) - Number(b['pk']))
    const order = (primary.length > 0 ? primary : info).map((column) => `"${String(column['name'])}"`)
    return { name, columns, order: order.join(', '), key: keyOf(name, columns) }
  })
}

/** How the rows of a session are found in a table; undefined if the table is not about sessions, such as that of accounts. */
function keyOf(name: string, columns: string[]): Key | undefined {
  if (name === 'session') return { column: 'id' }
  if (name === 'project') return { column: 'id', from: 'project_id' }
  if (name === 'project_directory') return { column: 'project_id', from: 'project_id' }
  if (name === 'workspace') return { column: 'id', from: 'workspace_id' }
  const column = ['session_id', 'aggregate_id'].find((one) => columns.includes(one))
  return column === undefined ? undefined : { column }
}

/** Rows of the project belong to other sessions, too. */
function isOwn(key: Key | undefined): key is Key {
  return key !== undefined && key.from === undefined
}

function hasSession(rows: ForeignRows, sessionId: string): boolean {
  return [...rows('SELECT 1 FROM session WHERE id = ?', sessionId)].length > 0
}

/** The rows that a session can have: not those of another session or project, nor of tables that are not about sessions. */
function ownRows(rows: readonly StoredRow[], sessionId: string, tables: readonly Table[]): StoredRow[] {
  const keys = new Map(tables.map(({ name, key }) => [name, key]))
  const session = rows.find(([name, { id }]) => name === 'session' && id === sessionId)?.[1]
  return rows.filter(([name, values]) => {
    // Without a table the version of opencode is another one, which `insert` reports.
    if (!keys.has(name)) return true
    const key = keys.get(name)
    return key && values[key.column] === (key.from === undefined ? sessionId : session?.[key.from])
  })
}

/** The row of the session, which changes with every turn, comes last: the text before it mostly grows, and is stored once. */
function* textOf(rows: ForeignRows, sessionId: string): Generator<string> {
  const tables = tablesOf(rows)
  const schema = [
    ...rows(
      "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name",
    ),
  ].map(({ sql }) => String(sql))
  const migrations = tables
    .filter(({ name }) => migrationTables.has(name))
    .flatMap(({ name, order }) =>
      [...rows(`SELECT * FROM "${name}" ORDER BY ${order}`)].map((row): StoredRow => [name, row]),
    )
  yield JSON.stringify({ rows: 1, sessionId, schema, migrations } satisfies Head, asText)
  const [session] = rows('SELECT * FROM session WHERE id = ?', sessionId)
  for (const { name, order, key } of tables) {
    if (key === undefined || name === 'session') continue
    const wanted = key.from === undefined ? sessionId : (session?.[key.from] ?? null)
    for (const row of rows(
      `SELECT * FROM "${name}" WHERE "${key.column}" = ? ORDER BY ${order}`,
      wanted as SQLInputValue,
    ))
      yield JSON.stringify([name, row] satisfies StoredRow, asText)
  }
  yield JSON.stringify(['session', session ?? {}] satisfies StoredRow, asText)
}

type StoredRow = [table: string, values: Record<string, unknown>]

interface Head {
  rows: 1
  sessionId: string
  /** Statements that make the tables, then their indexes. */
  schema: string[]
  migrations: StoredRow[]
}

function parse(text: Buffer): [Head, ...StoredRow[]] {
  const lines = text.toString('utf8').split('\n').filter(Boolean)
  const head = parseRecord(lines[0] ?? '')
  if (head?.['rows'] !== 1) throw new RockpoolError('damaged', 'These are not the rows of a session.')
  // Only `textOf` writes such a text, and the vault compares its checksum.
  return [head as unknown as Head, ...lines.slice(1).map((line) => JSON.parse(line) as StoredRow)]
}

function asText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value
}

function asValue(value: unknown): SQLInputValue {
  if (typeof value === 'object' && value !== null && 'base64' in value)
    return Buffer.from(String(value.base64), 'base64')
  return value as SQLInputValue
}

/** A row that exists is left as it is. Another version of opencode may lack a table or a column: then its values are left out. */
function insert(db: DatabaseSync, [table, values]: StoredRow, known: ReadonlyMap<string, string[]>): void {
  const columns = (known.get(table) ?? []).filter((column) => column in values)
  if (columns.length === 0 && !neededTables.has(table)) return
  const names = columns.map((column) => `"${column}"`).join(', ')
  const places = columns.map(() => '?').join(', ')
  db.prepare(`INSERT INTO "${table}" (${names}) VALUES (${places}) ON CONFLICT DO NOTHING`).run(
    ...columns.map((column) => asValue(values[column])),
  )
}

const neededTables: ReadonlySet<string> = new Set(['session', 'message', 'part'])

function compareRows(rows: ForeignRows, sessionId: string, text: Buffer): RowsOutcome {
  const there = Buffer.concat([...textOf(rows, sessionId)].map((line) => Buffer.from(`${line}\n`)))
  if (there.equals(text)) return 'same'
  return updatedIn(there) > updatedIn(text) ? 'longer' : 'different'
}

function updatedIn(text: Buffer): number {
  const [, ...rows] = parse(text)
  return Number(rows.at(-1)?.[1]['time_updated'] ?? 0)
}

function asRowsError(error: unknown, database: string): unknown {
  const text = String(error)
  if (/database is locked|busy/i.test(text))
    return new RockpoolError('busy', `opencode is writing to ${database}.`, { cause: error })
  if (!/constraint|no such table|syntax error|has no column/i.test(text)) return error
  return new RockpoolError('refused', `${database} cannot take the session: ${text}`, {
    hint: 'Another version of opencode made this database. Restore to another folder with --to; `opencode export` reads it there.',
    cause: error,
  })
}
