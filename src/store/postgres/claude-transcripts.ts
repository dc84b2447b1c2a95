// Claude's transcripts in PostgreSQL, by the contract of the Agent SDK: a session continues on another machine. Entries are text,
// because jsonb would change numbers and refuse what JSON allows.
import type { ClientConfig, Pool } from 'pg'
import { RockpoolError } from '../../domain/errors.ts'
import type { SessionKey, SessionStoreEntry } from '../../domain/sdk-contract.ts'
import type { ClosableSessionStore } from '../sqlite/claude-transcripts.ts'
import { isConnectionLoss } from './failure.ts'
import { Servers } from './servers.ts'

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
      if (opening === used && (isConnectionLoss(error) || !(await isOpen(used)))) {
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
  const writer = fence ? 'AND (SELECT fence($6))' : ''
  return {
    async append(key, entries) {
      if (entries.length === 0) return
      const values = [
        ...placeOf(key),
        entries.map((entry) => entry.uuid ?? null),
        entries.map((entry) => JSON.stringify(entry)),
        ...(fence ? [fence()] : []),
      ]
      // One statement: a batch is stored completely or not at all, in the order of the array.
      await rows(
        `INSERT INTO ${table} (project, session, subpath, uuid, entry)
         SELECT $1, $2, $3, given.uuid, given.entry
           FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS given (uuid, entry, place)
           WHERE true ${writer} ORDER BY given.place
         ON CONFLICT DO NOTHING`,
        values,
      )
    },
    async load(key) {
      const found = await rows<{ entry: string }>(
        `SELECT entry FROM ${table} WHERE project = $1 AND session = $2 AND subpath = $3 ORDER BY seq`,
        placeOf(key),
      )
      return found.length === 0 ? null : found.map((row) => JSON.parse(row.entry) as SessionStoreEntry)
    },
    async listSessions(projectKey) {
      const found = await rows<{ session: string; at: number }>(
        `SELECT session, floor(extract(epoch FROM max(at)) * 1000)::float8 AS at FROM ${table} WHERE project = $1 AND subpath = '' GROUP BY session`,
        [projectKey],
      )
      return found.map(({ session, at }) => ({ sessionId: session, mtime: at }))
    },
    async delete({ projectKey, sessionId, subpath }) {
      await rows(
        `DELETE FROM ${table} WHERE project = $1 AND session = $2 AND ($3::text IS NULL OR subpath = $3)`,
        [projectKey, sessionId, subpath ?? null],
      )
    },
    async listSubkeys({ projectKey, sessionId }) {
      const found = await rows<{ subpath: string }>(
        `SELECT DISTINCT subpath FROM ${table} WHERE project = $1 AND session = $2 AND subpath <> '' ORDER BY subpath`,
        [projectKey, sessionId],
      )
      return found.map((row) => row.subpath)
    },
  }
}

function configOf(url: string): ClientConfig {
  return { connectionString: url, connectionTimeoutMillis: 10_000 }
}

function isOpen(opening: Promise<Pool>): Promise<boolean> {
  return opening.then(
    () => true,
    () => false,
  )
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
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new RockpoolError('unavailable', `PostgreSQL cannot be used: ${reason}.`, { cause })
  }
}

/** Under a lock, because several processes may start at the same time. */
async function makeTable(pool: Pool, schema: string, table: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`rockpool ${schema}`])
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`)
    await client.query(`CREATE TABLE IF NOT EXISTS ${table} (
      seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      project text NOT NULL, session text NOT NULL, subpath text NOT NULL,
      uuid text, entry text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
    )`)
    await client.query(
      `CREATE INDEX IF NOT EXISTS claude_entry_place ON ${table} (project, session, subpath, seq)`,
    )
    await client.query(
      `CREATE UNIQUE INDEX IF NOT EXISTS claude_entry_uuid ON ${table} (project, session, subpath, uuid) WHERE uuid IS NOT NULL`,
    )
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

function placeOf(key: SessionKey): unknown[] {
  return [key.projectKey, key.sessionId, key.subpath ?? '']
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
