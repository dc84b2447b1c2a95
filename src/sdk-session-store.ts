// `rockpool/sdk-session-store`: Claude's transcripts in SQLite or PostgreSQL, for any program that uses the Agent SDK.
export { postgresSessionStore } from './store/postgres/claude-transcripts.ts'
export type { PostgresSessionStoreOptions } from './store/postgres/claude-transcripts.ts'
export { sqliteSessionStore } from './store/sqlite/claude-transcripts.ts'
export type { SqliteSessionStoreOptions } from './store/sqlite/claude-transcripts.ts'
