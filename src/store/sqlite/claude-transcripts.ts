// Claude's transcripts in a SQLite database of their own.
import { resolve } from 'node:path'
import { claudeEntriesIn, placeOf, type ClosableSessionStore } from '../tables/claude-entries.ts'
import { Database } from './database.ts'
import { sqlFiles } from './migrations.ts'
import { sqliteSql } from './sql.ts'

export interface SqliteSessionStoreOptions {
  path: string
}

const migrations = sqlFiles('claude-transcripts/001-entries.sql')

export function sqliteSessionStore({ path }: SqliteSessionStoreOptions): ClosableSessionStore {
  const database = Database.open(resolve(path), migrations)
  const insert = `INSERT INTO claude_entry (project, session, subpath, uuid, entry, at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`
  return {
    ...claudeEntriesIn(sqliteSql(database), { table: 'claude_entry', mtime: 'max(at)' }),
    append: (key, entries) =>
      database.write((q) => {
        for (const entry of entries)
          q.run(insert, ...placeOf(key), entry.uuid ?? null, JSON.stringify(entry), Date.now())
      }),
    close: () => database.close(),
  }
}
