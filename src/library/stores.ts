// Callers of the library pass in only a path. So the library, unlike the program, keeps its open stores at module level.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import { readEnvironment, readStoreKind } from '../store/config-file.ts'
import { Database } from '../store/sqlite/database.ts'
import { FileSessions } from '../store/files/sessions-in-file.ts'
import { agentOfFolder } from '../store/paths.ts'
import type { SessionStore } from '../store/session-store.ts'
import { sessionMigrations } from '../store/sqlite/session-table.ts'
import { SqliteSessions } from '../store/sqlite/sessions.ts'
import { WholeDatabase } from '../store/sqlite/whole-database.ts'
import { WholeFile, type WholeStore } from '../store/files/whole-file.ts'

interface OpenedStore {
  store: WholeStore
  /** False for a file beside which a database may still be created. */
  isSettled: boolean
}

const opened = new Map<string, OpenedStore>()
const openedSessions = new Map<string, { sessions: SqliteSessions; inode: number }>()
const parts = { clock: systemClock, log: silentLog }

export function storeAt(storePath: string): WholeStore {
  const path = resolve(storePath)
  const known = opened.get(path)
  if (known && (known.isSettled || !existsSync(databaseBeside(path)))) return known.store
  if (opened.size === 0) process.on('beforeExit', () => void finishAll())
  const filesOnly = isFilesOnly()
  const hasDatabase = !filesOnly && keepsDatabase(path)
  const store = hasDatabase ? openDatabase(path) : openFile(path)
  opened.set(path, { store, isSettled: filesOnly || hasDatabase })
  return store
}

/** The sessions of one agent in the same store, in the program's form. They stay open. */
export function sessionsAt(storePath: string, agentId: string): SessionStore {
  const path = resolve(storePath)
  if (isFilesOnly() || !keepsDatabase(path)) return new FileSessions({ agentId, path, ...parts })
  storeAt(path)
  const database = databaseBeside(path)
  if (!existsSync(database)) void Database.open(database, sessionMigrations).close()
  const { ino: inode } = statSync(database)
  const known = openedSessions.get(`${agentId} ${path}`)
  if (known?.inode === inode) return known.sessions
  const sessions = new SqliteSessions({ agentId, database, mirror: path, ...parts })
  openedSessions.set(`${agentId} ${path}`, { sessions, inode })
  return sessions
}

/** Clears the caches, so that the next load reads the file. */
export function clearSessionStoreCacheForTest(): void {
  for (const { store } of opened.values()) store.forget()
}

const databaseBeside = (path: string): string => join(dirname(path), 'sessions.sqlite')

/** A sessions.json without a database belongs to another program and stays the truth; a new folder gets a database. */
const keepsDatabase = (path: string): boolean => existsSync(databaseBeside(path)) || !existsSync(path)

const isFilesOnly = (): boolean => readStoreKind(readEnvironment()) === 'files'

function openDatabase(path: string): WholeStore {
  const isOfOneAgent = /\/agents\/[^/]+\/sessions$/.test(dirname(path))
  const agentId = isOfOneAgent ? agentOfFolder(dirname(path)) : undefined
  return new WholeDatabase({ path, database: databaseBeside(path), agentId, ...parts })
}

function openFile(path: string): WholeStore {
  const cacheTtlMs = (): number => readEnvironment().sessionCacheTtlMs ?? 45_000
  return new WholeFile({ path, cacheTtlMs, ...parts })
}

/** Writes sessions.json before the script ends. */
async function finishAll(): Promise<void> {
  for (const { store } of opened.values()) await store.finish()
  for (const { sessions } of openedSessions.values()) await sessions.finish()
}
