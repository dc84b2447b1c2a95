// Brings the schema to this program's version, one at a time over all machines; a newer schema is refused.
import type { Pool, PoolClient } from 'pg'
import { RockpoolError } from '../../domain/errors.ts'
import { deliveryFunctions, workFunctions } from './functions-work.ts'
import { claudeTables } from './tables-claude.ts'
import { copyTables } from './tables-copies.ts'
import { mediaTables } from './tables-media.ts'
import { memberTables } from './tables-members.ts'
import { memoryStamps, memoryTables } from './tables-memory.ts'
import { recordTables } from './tables-records.ts'
import { sessionTables } from './tables-sessions.ts'
import { workTables } from './tables-work.ts'

/** Which version the schema has, and which one this program makes. */
export async function schemaState(postgres: {
  read<T>(sql: string): Promise<T[]>
}): Promise<{ version: number; known: number }> {
  const [row] = await postgres.read<{ version: number }>('SELECT version FROM schema_version')
  return { version: row?.version ?? 0, known: migrations.length }
}

/** Number n brings version n - 1 to version n. Never edited after a release, only added to. */
const migrations: string[] = [
  memberTables + claudeTables + sessionTables + workTables,
  recordTables,
  workFunctions,
  copyTables,
  memoryTables,
  mediaTables,
  memoryStamps,
  deliveryFunctions,
  // Once more: a reply is given out after all that is before it.
  deliveryFunctions,
  // Replaces the functions again: a member that was declared dead owns no coding sessions.
  workFunctions,
  // Once more: a turn begins after all that came before it.
  workFunctions,
  // How often the agent was asked about a message. One that an earlier version lost once may have been asked.
  'ALTER TABLE inbox ADD COLUMN asked int NOT NULL DEFAULT 0; UPDATE inbox SET asked = lost_turns;',
]

/** To this program's version; to an earlier one only for a test of what comes after it. */
export async function migrate(pool: Pool, schema: string, to = migrations.length): Promise<void> {
  const client = await pool.connect()
  try {
    // Most starts find everything in place, and need no lock.
    if ((await versionOf(client, schema)) === to) return
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`rockpool ${schema}`])
    await bringUp(client, schema, to)
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

async function bringUp(client: PoolClient, schema: string, to: number): Promise<void> {
  const version = await versionOf(client, schema)
  if (version > migrations.length) throw newerSchema(schema, version)
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`)
  await client.query(`SET LOCAL search_path TO ${quoted(schema)}`)
  await client.query('CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL)')
  for (const migration of migrations.slice(version, to)) await client.query(migration)
  await client.query('DELETE FROM schema_version')
  await client.query('INSERT INTO schema_version VALUES ($1)', [to])
}

async function versionOf(client: PoolClient, schema: string): Promise<number> {
  const table = `${quoted(schema)}.schema_version`
  const { rows } = await client.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    table,
  ])
  if (!rows[0]?.there) return 0
  const found = await client.query<{ version: number }>(`SELECT version FROM ${table}`)
  return found.rows[0]?.version ?? 0
}

function newerSchema(schema: string, found: number): RockpoolError {
  return new RockpoolError(
    'schema-newer',
    `The schema ${JSON.stringify(schema)} was written by a newer Rockpool (version ${found}; this one knows ${migrations.length}).`,
    { hint: 'Update this Rockpool, or point ROCKPOOL_DATABASE_URL at another database.' },
  )
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
