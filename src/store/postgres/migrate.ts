// Brings the schema to this program's version; a newer schema is refused. The numbered files of sql/ make and change tables:
// each runs once, and never changes after a release. The files of sql/functions/ hold the functions that the program calls:
// they are applied again whenever their text has changed. A release whose functions an older Rockpool must not replace also
// adds a numbered file, because an older Rockpool refuses the schema then.
// Versions 3 and 8 to 11 only replaced functions; no files have these numbers.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import { RockpoolError } from '../../domain/errors.ts'
import { sqlFolder } from '../sql-files.ts'

interface Migration {
  version: number
  file: URL
}

/** The version of the schema, and the version that this program makes. */
export async function schemaState(postgres: {
  read<T>(sql: string): Promise<T[]>
}): Promise<{ version: number; known: number }> {
  const [row] = await postgres.read<{ version: number }>('SELECT version FROM schema_version')
  return { version: row?.version ?? 0, known: latestOf(migrationsIn(sqlFolder('postgres'))) }
}

export async function migrate(pool: Pool, schema: string): Promise<void> {
  const folder = sqlFolder('postgres')
  const migrations = migrationsIn(folder)
  const functions = functionsIn(folder)
  const hash = createHash('sha256').update(functions).digest('base64url')
  const wanted = { version: latestOf(migrations), functions: hash }
  const client = await pool.connect()
  try {
    // Most starts find everything in place, and need no lock.
    if (isDeepStrictEqual(await stateOf(client, schema), wanted)) return
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`rockpool ${schema}`])
    const { version } = await stateOf(client, schema)
    if (version > wanted.version) throw newerSchema(schema, version, wanted.version)
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`)
    await client.query(`SET LOCAL search_path TO ${quoted(schema)}`)
    for (const migration of migrations)
      if (migration.version > version) await client.query(readFileSync(migration.file, 'utf8'))
    await client.query(functions)
    await recordState(client, wanted)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      // The connection is gone, and the transaction with it.
    })
    throw error
  } finally {
    client.release()
  }
}

function migrationsIn(folder: URL): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  return names.sort().map((name) => ({ version: Number.parseInt(name, 10), file: new URL(name, folder) }))
}

function latestOf(migrations: Migration[]): number {
  return migrations.at(-1)!.version
}

function functionsIn(folder: URL): string {
  const functions = new URL('functions/', folder)
  const names = readdirSync(functions).sort()
  return names.map((name) => readFileSync(new URL(name, functions), 'utf8')).join('\n')
}

interface SchemaState {
  version: number
  /** The hash of the functions; null in a database that a Rockpool before these files made. */
  functions: string | null
}

async function stateOf(client: PoolClient, schema: string): Promise<SchemaState> {
  const table = `${quoted(schema)}.schema_version`
  const none = { version: 0, functions: null }
  // Not by to_regclass: it may answer from a cache of the connection, without the tables that another machine has just made.
  const { rows } = await client.query<{ exists: boolean }>(
    `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS class JOIN pg_catalog.pg_namespace AS space ON space.oid = class.relnamespace
       WHERE space.nspname = $1 AND class.relname = 'schema_version') AS exists`,
    [schema],
  )
  if (!rows[0]?.exists) return none
  // As JSON, because the column may not be there yet.
  const found = await client.query<SchemaState>(
    `SELECT version, to_jsonb(state)->>'functions' AS functions FROM ${table} AS state`,
  )
  return found.rows[0] ?? none
}

async function recordState(client: PoolClient, { version, functions }: SchemaState): Promise<void> {
  await client.query('CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL)')
  await client.query('ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS functions text')
  await client.query('DELETE FROM schema_version')
  await client.query('INSERT INTO schema_version (version, functions) VALUES ($1, $2)', [version, functions])
}

function newerSchema(schema: string, found: number, known: number): RockpoolError {
  return new RockpoolError(
    'schema-newer',
    `The schema ${JSON.stringify(schema)} was written by a newer Rockpool (version ${found}; this one knows ${known}).`,
    { hint: 'Update this Rockpool, or point ROCKPOOL_DATABASE_URL at another database.' },
  )
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
