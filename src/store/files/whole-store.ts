// A session store as the seeds see it: one object, named by the path of its sessions.json. The entries are in a database
// beside that file (whole-database.ts) or in the file itself (whole-file.ts).
import type { SessionEntry } from '../../domain/session.ts'
import type { LockOptions } from '../disk/file-lock.ts'

/** An object without a prototype, so that a key such as `__proto__` is an ordinary key. */
export type SessionRecord = Record<string, SessionEntry>

/** Gets a copy of the entry (undefined if new); returns the entry to store, or undefined for no change. */
export type EntryChange = (
  entry: SessionEntry | undefined,
) => SessionEntry | undefined | Promise<SessionEntry | undefined>

export interface WholeStore {
  load(options?: { skipCache?: boolean }): SessionRecord
  get(key: string): SessionEntry | undefined
  /** Loads all entries, lets `mutate` change them, and saves the changes. Concurrent changes of others are not lost. */
  update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T>
  /** Reads, changes and writes one entry. `change` runs again if another process changed that entry meanwhile. */
  updateEntry(key: string, change: EntryChange): Promise<SessionEntry | undefined>
  withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T>
  /** Resolves when sessions.json has everything that was saved. */
  writeFile(): Promise<void>
  /** Called before the process ends: ensures that sessions.json gets everything that was saved. */
  finish(): Promise<void>
  forget(): void
}

export function recordOf(entries: Iterable<[string, SessionEntry]>): SessionRecord {
  const record: SessionRecord = Object.create(null) as SessionRecord
  for (const [key, entry] of entries) record[key] = entry
  return record
}
