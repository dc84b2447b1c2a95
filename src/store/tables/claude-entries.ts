// Claude's transcripts by the contract of the Agent SDK, as far as both databases do the same. An entry with a known uuid is
// stored once; entries without a uuid are stored each time. Entries are text, because PostgreSQL's jsonb would change numbers
// and refuse what JSON allows.
import type { SessionKey, SessionStore, SessionStoreEntry } from '../../domain/sdk-contract.ts'
import type { SqlDatabase } from './sql-database.ts'

/** The store, and a way to close it. */
export type ClosableSessionStore = Required<Omit<SessionStore, 'listSessionSummaries'>> & {
  close(): Promise<void>
}

/** `mtime`: the expression for the time of a session's last entry, in milliseconds. */
export function claudeEntriesIn(
  sql: Pick<SqlDatabase, 'all' | 'run'>,
  { table, mtime }: { table: string; mtime: string },
): Omit<ClosableSessionStore, 'append' | 'close'> {
  return {
    async load(key) {
      const query = `SELECT entry FROM ${table} WHERE project = ? AND session = ? AND subpath = ? ORDER BY seq`
      const rows = await sql.all<{ entry: string }>(query, placeOf(key))
      return rows.length === 0 ? null : rows.map((row) => JSON.parse(row.entry) as SessionStoreEntry)
    },
    listSessions: (projectKey) =>
      sql.all(
        `SELECT session AS "sessionId", ${mtime} AS mtime FROM ${table} WHERE project = ? AND subpath = '' GROUP BY session`,
        [projectKey],
      ),
    // Without a subpath the whole session is deleted, with its sub-agents.
    async delete({ projectKey, sessionId, subpath }) {
      await sql.run(
        `DELETE FROM ${table} WHERE project = ?1 AND session = ?2 AND (CAST(?3 AS TEXT) IS NULL OR subpath = ?3)`,
        [projectKey, sessionId, subpath ?? null],
      )
    },
    async listSubkeys({ projectKey, sessionId }) {
      const rows = await sql.all<{ subpath: string }>(
        `SELECT DISTINCT subpath FROM ${table} WHERE project = ? AND session = ? AND subpath <> '' ORDER BY subpath`,
        [projectKey, sessionId],
      )
      return rows.map((row) => row.subpath)
    },
  }
}

export function placeOf(key: SessionKey): [project: string, session: string, subpath: string] {
  return [key.projectKey, key.sessionId, key.subpath ?? '']
}
