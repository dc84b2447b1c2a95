// `rockpool/sdk-session-store`: Claude's transcripts in SQLite or PostgreSQL, for anybody's use of the Agent SDK.
export { postgresSessionStore } from './store/claude-transcripts-postgres.ts'
export type { PostgresSessionStoreOptions } from './store/claude-transcripts-postgres.ts'
export { sqliteSessionStore } from './store/claude-transcripts-sqlite.ts'
export type { SqliteSessionStoreOptions } from './store/claude-transcripts-sqlite.ts'
