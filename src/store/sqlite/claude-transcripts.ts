// Claude's transcripts in SQLite, by the contract of the Agent SDK. An entry with a known uuid is stored once; entries without a
// uuid are stored each time.
import { resolve } from 'node:path'
import type { SessionKey, SessionStore, SessionStoreEntry } from '../../domain/sdk-contract.ts'
import { Database } from './database.ts'

export interface SqliteSessionStoreOptions {
  path: string
}

/** The store, and a way to close it. */
export type ClosableSessionStore = Required<Omit<SessionStore, 'listSessionSummaries'>> & {
  close(): Promise<void>
}

const migrations = [
  `CREATE TABLE claude_entry (
     seq INTEGER PRIMARY KEY,
     project TEXT NOT NULL, session TEXT NOT NULL, subpath TEXT NOT NULL,
     uuid TEXT, entry TEXT NOT NULL, at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX claude_entry_place ON claude_entry (project, session, subpath, seq);
   CREATE UNIQUE INDEX claude_entry_uuid ON claude_entry (project, session, subpath, uuid) WHERE uuid IS NOT NULL;`,
]

export function sqliteSessionStore({ path }: SqliteSessionStoreOptions): ClosableSessionStore {
  const database = Database.open(resolve(path), migrations)
  return {
    append: (key, entries) =>
      database.write((q) => {
        for (const entry of entries) {
          q.run(
            `INSERT INTO claude_entry (project, session, subpath, uuid, entry, at) VALUES (?, ?, ?, ?, ?, ?)
               ON CONFLICT DO NOTHING`,
            ...placeOf(key),
            entry.uuid ?? null,
            JSON.stringify(entry),
            Date.now(),
          )
        }
      }),
    async load(key) {
      const rows = database.queries.all<{ entry: string }>(
        'SELECT entry FROM claude_entry WHERE project = ? AND session = ? AND subpath = ? ORDER BY seq',
        ...placeOf(key),
      )
      return rows.length === 0 ? null : rows.map((row) => JSON.parse(row.entry) as SessionStoreEntry)
    },
    async listSessions(projectKey) {
      return database.queries.all<{ sessionId: string; mtime: number }>(
        `SELECT session AS sessionId, max(at) AS mtime FROM claude_entry
          WHERE project = ? AND subpath = '' GROUP BY session`,
        projectKey,
      )
    },
    // Without a subpath the whole session is deleted, with its sub-agents.
    delete: ({ projectKey, sessionId, subpath }) =>
      database.write((q) => {
        q.run(
          'DELETE FROM claude_entry WHERE project = ? AND session = ? AND (?3 IS NULL OR subpath = ?3)',
          projectKey,
          sessionId,
          subpath ?? null,
        )
      }),
    async listSubkeys({ projectKey, sessionId }) {
      return database.queries
        .all<{ subpath: string }>(
          "SELECT DISTINCT subpath FROM claude_entry WHERE project = ? AND session = ? AND subpath <> '' ORDER BY subpath",
          projectKey,
          sessionId,
        )
        .map((row) => row.subpath)
    },
    close: () => database.close(),
  }
}

function placeOf(key: SessionKey): [string, string, string] {
  return [key.projectKey, key.sessionId, key.subpath ?? '']
}
