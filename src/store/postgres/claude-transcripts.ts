// Claude's transcripts in PostgreSQL: a session continues on another machine.
import type { ClientConfig, Pool } from 'pg'
import { RockpoolError, errorText } from '../../domain/errors.ts'
import { claudeEntriesIn, placeOf, type ClosableSessionStore } from '../tables/claude-entries.ts'
import { isConnectionLoss } from './failure.ts'
import { quoted } from './migrate.ts'
import { Servers } from './servers.ts'
import { numbered } from './sql.ts'

export interface PostgresSessionStoreOptions {
  url: string
  /** The schema that holds the table; `rockpool` unless given. */
  schema?: string
}

export function postgresSessionStore({
  url,
  schema = 'rockpool',
}: PostgresSessionStoreOptions): ClosableSessionStore {
  const table = `${quoted(schema)}.claude_entry`
  let opening: Promise<Pool> | undefined
  const servers = new Servers(url, configOf)
  const pool = (): Promise<Pool> => (opening ??= open(servers, schema, table))
  const rows = async <Row>(sql: string, values: unknown[]): Promise<Row[]> => {
    const used = pool()
    try {
      return (await (await used).query(sql, values)).rows as Row[]
    } catch (error) {
      // The next query connects again, to the server that accepts writes then.
      const isOpen = (await used.catch(() => undefined)) !== undefined
      if (opening === used && (isConnectionLoss(error) || !isOpen)) {
        opening = undefined
        void closed(used)
      }
      throw error
    }
  }
  return {
    ...claudeEntries(rows, table),
    async close() {
      if (opening) await closed(opening)
    },
  }
}

type AskRows = <Row>(sql: string, values: unknown[]) => Promise<Row[]>

/** The contract on an existing table. `fence` returns the writing member, so that writes of a dead member fail. */
export function claudeEntries(
  rows: AskRows,
  table: string,
  fence?: () => string | null,
): Omit<ClosableSessionStore, 'close'> {
  const ask = <Row>(sql: string, values: unknown[] = []): Promise<Row[]> => rows<Row>(numbered(sql), values)
  const sql = { all: ask, run: async (text: string, values?: unknown[]) => (await ask(text, values)).length }
  const mtime = 'floor(extract(epoch FROM max(at)) * 1000)::float8'
  const writer = fence ? 'AND (SELECT fence($6))' : ''
  return {
    ...claudeEntriesIn(sql, { table, mtime }),
    async append(key, entries) {
      if (entries.length === 0) return
      const uuids = entries.map((entry) => entry.uuid ?? null)
      const texts = entries.map((entry) => JSON.stringify(entry))
      // One statement: a batch is stored completely or not at all, in the order of the array.
      await rows(
        `INSERT INTO ${table} (project, session, subpath, uuid, entry)
         SELECT $1, $2, $3, given.uuid, given.entry
           FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS given (uuid, entry, place)
           WHERE true ${writer} ORDER BY given.place
         ON CONFLICT DO NOTHING`,
        [...placeOf(key), uuids, texts, ...(fence ? [fence()] : [])],
      )
    },
  }
}

function configOf(url: string): ClientConfig {
  return { connectionString: url, connectionTimeoutMillis: 10_000 }
}

async function closed(opening: Promise<Pool>): Promise<void> {
  const pool = await opening.catch(() => undefined)
  await pool?.end()
}

/** The driver is loaded when a database is really used. */
async function open(servers: Servers, schema: string, table: string): Promise<Pool> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ ...configOf(await servers.find()), max: 4 })
  // A connection that breaks while idle is replaced at the next query; that query reports what is wrong.
  pool.on('error', () => {})
  try {
    await makeTable(pool, schema, table)
    return pool
  } catch (cause) {
    await pool.end()
    throw new RockpoolError('unavailable', `PostgreSQL cannot be used: ${errorText(cause)}.`, { cause })
  }
}

/** Under a lock, because several processes may start at the same time. */
async function makeTable(pool: Pool, schema: string, table: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`rockpool ${schema}`])
    await client.query(
      `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)};
       CREATE TABLE IF NOT EXISTS ${table} (
         seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
         project text NOT NULL, session text NOT NULL, subpath text NOT NULL,
         uuid text, entry text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
       );
       CREATE INDEX IF NOT EXISTS claude_entry_place ON ${table} (project, session, subpath, seq);
       CREATE UNIQUE INDEX IF NOT EXISTS claude_entry_uuid ON ${table} (project, session, subpath, uuid)
         WHERE uuid IS NOT NULL`,
    )
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}
