// A session store as the seeds see it: one object, named by the path of its sessions.json. The entries are in a database
// beside that file (whole-database.ts) or in the file itself (whole-file.ts).
import type { SessionEntry } from '../../domain/session.ts'
import type { LockOptions } from '../disk/file-lock.ts'

/** Without a prototype, so that every key is only a key. */
export type SessionRecord = Record<string, SessionEntry>

/** Gets a copy of the entry (none if new); gives the entry to store, or undefined to leave things as they are. */
export type EntryChange = (
  entry: SessionEntry | undefined,
) => SessionEntry | undefined | Promise<SessionEntry | undefined>

export interface WholeStore {
  load(options?: { skipCache?: boolean }): SessionRecord
  get(key: string): SessionEntry | undefined
  /** Loads, lets `mutate` change what it is given, and saves what it changed. Nobody's change in between is lost. */
  update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T>
  /** Reads, changes and writes one entry. `change` may run again when others changed that entry meanwhile. */
  updateEntry(key: string, change: EntryChange): Promise<SessionEntry | undefined>
  withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T>
  /** Resolves when sessions.json holds what was saved. */
  writeFile(): Promise<void>
  /** The process is about to end: sees to it that sessions.json will hold what was saved. */
  finish(): Promise<void>
  forget(): void
}

export function recordOf(entries: Iterable<[string, SessionEntry]>): SessionRecord {
  const record: SessionRecord = Object.create(null) as SessionRecord
  for (const [key, entry] of entries) record[key] = entry
  return record
}
