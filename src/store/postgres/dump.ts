// All shared tables as files of one moment, and back into an empty database. PostgreSQL's own tools do the same and more; this
// needs none of them and is part of a backup.
import { openSync } from 'node:fs'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { linesOfFile } from '../disk/file-lines.ts'
import type { Postgres, Statements } from './connection.ts'
import { quoted, schemaState } from './migrate.ts'
import { inBatches } from './sql.ts'
import { closeAtEnd } from '../disk/foreign-file.ts'

interface Meta {
  version: number
  sequences: Record<string, number>
}

interface Table {
  name: string
  needs: string[]
}

/** Transient tables (membership, leases, signals) are not backed up. */
const transient = new Set(['member', 'lease', 'event_body', 'schema_version', 'record_origin'])
const metaName = 'meta.json'
const rowsAtOnce = 50
const longestRow = 2 ** 30

/** Resolves to the names of the files. All tables are from one snapshot. */
export async function dumpTables(postgres: Postgres, folder: string): Promise<string[]> {
  const { version } = await schemaState(postgres)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return postgres.transaction(
    async (statements) => {
      await statements.rows('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
      const names = (await tablesIn(statements)).map(({ name }) => name)
      const memberColumns = await columnsOfMembers(statements)
      for (const name of names) await dumpTable(statements, name, memberColumns.get(name) ?? [], folder)
      const meta: Meta = { version, sequences: await sequencesIn(statements) }
      await writeFile(join(folder, metaName), JSON.stringify(meta), { mode: 0o600, flag: 'wx' })
      return [metaName, ...names.map(fileOf)]
    },
    { once: true },
  )
}

/** All or nothing, from the files with these names only: a backup lists and verifies its files. Resolves to how many rows each table
 *  got. */
export async function restoreTables(
  postgres: Postgres,
  folder: string,
  names: ReadonlySet<string>,
): Promise<Record<string, number>> {
  if (!names.has(metaName))
    throw new RockpoolError('damaged', `${folder} has no ${metaName} that the backup lists.`, {
      hint: 'Use another backup.',
    })
  const meta = JSON.parse(await readFile(join(folder, metaName), 'utf8')) as Meta
  const { version } = await schemaState(postgres)
  const found = meta.version
  if (found !== version)
    throw new RockpoolError(
      'schema-newer',
      `The backup is of version ${found} of the tables; this Rockpool has version ${version}.`,
      { hint: 'Restore it with the Rockpool that made it, then update.' },
    )
  return postgres.transaction(
    async (statements) => {
      const tables = await tablesIn(statements)
      for (const { name } of tables) await checkEmpty(statements, name, postgres.place)
      const copied: Record<string, number> = {}
      for (const { name } of tables) {
        const table = `${quoted(postgres.schema)}.${quoted(name)}`
        const file = fileOf(name)
        copied[name] = names.has(file) ? await restoreTable(statements, table, join(folder, file)) : 0
      }
      for (const [name, last] of Object.entries(meta.sequences))
        await statements.rows('SELECT setval(quote_ident($1)::regclass, $2)', [name, last])
      // The machines must rebuild their copies.
      await statements.rows('UPDATE record_origin SET id = gen_random_uuid()::text')
      return copied
    },
    { once: true },
  )
}

/** Tables that others reference come first. */
async function tablesIn({ rows }: Statements): Promise<Table[]> {
  const found = await rows<Table>(
    `SELECT relname::text AS name, ARRAY(SELECT DISTINCT confrelid::regclass::text FROM pg_constraint
       WHERE contype = 'f' AND conrelid = pg_class.oid) AS needs
     FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname`,
  )
  const left = found.filter(({ name }) => !transient.has(name))
  const sorted: Table[] = []
  while (left.length > 0) {
    const next = left.findIndex(({ needs }) => !needs.some((need) => left.some(({ name }) => name === need)))
    sorted.push(...left.splice(Math.max(next, 0), 1))
  }
  return sorted
}

/** Columns that reference a member, by table. They are written as null. */
async function columnsOfMembers({ rows }: Statements): Promise<Map<string, string[]>> {
  const found = await rows<{ name: string; columns: string[] }>(
    `SELECT conrelid::regclass::text AS name, array_agg(attname::text) AS columns
     FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
     WHERE contype = 'f' AND confrelid = 'member'::regclass GROUP BY conrelid`,
  )
  return new Map(found.map(({ name, columns }) => [name, columns]))
}

async function sequencesIn({ rows }: Statements): Promise<Record<string, number>> {
  const found = await rows<{ name: string; last: number }>(
    `SELECT sequencename::text AS name, last_value AS last FROM pg_sequences
     WHERE schemaname = current_schema() AND last_value IS NOT NULL`,
  )
  return Object.fromEntries(found.map(({ name, last }) => [name, last]))
}

async function dumpTable(
  { rows }: Statements,
  name: string,
  nulledColumns: string[],
  folder: string,
): Promise<void> {
  await using file = await open(join(folder, fileOf(name)), 'wx', 0o600)
  await rows(
    `DECLARE dump NO SCROLL CURSOR FOR SELECT row_to_json(dumped)::text AS line FROM ${quoted(name)} AS dumped`,
  )
  for (;;) {
    const batch = await rows<{ line: string }>(`FETCH ${rowsAtOnce} FROM dump`)
    if (batch.length === 0) break
    const lines = batch.map(({ line }) => (nulledColumns.length === 0 ? line : without(line, nulledColumns)))
    await file.write(`${lines.join('\n')}\n`)
  }
  await rows('CLOSE dump')
}

function without(line: string, columns: string[]): string {
  const row = JSON.parse(line) as Record<string, unknown>
  return JSON.stringify({ ...row, ...Object.fromEntries(columns.map((column) => [column, null])) })
}

async function checkEmpty({ rows }: Statements, name: string, place: string): Promise<void> {
  const [row] = await rows(`SELECT 1 FROM ${quoted(name)} LIMIT 1`)
  if (row === undefined) return
  throw new RockpoolError('conflict', `The database at ${place} is not empty: ${name} has rows.`, {
    hint: 'Restore into a new database, and point ROCKPOOL_DATABASE_URL at it.',
  })
}

/** Without triggers: what they count and number is in the rows. */
async function restoreTable({ rows }: Statements, table: string, path: string): Promise<number> {
  await rows(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
  let copied = 0
  for await (const lines of inBatches(linesIn(path), rowsAtOnce)) {
    await rows(
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
      [`[${lines.join(',')}]`],
    )
    copied += lines.length
  }
  await rows(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
  return copied
}

function* linesIn(path: string): Generator<string> {
  const fd = openSync(path, 'r')
  using _ = closeAtEnd(fd)
  for (const { bytes } of linesOfFile(fd, 0, longestRow)) yield bytes.toString()
}

function fileOf(table: string): string {
  return `${table}.jsonl`
}
