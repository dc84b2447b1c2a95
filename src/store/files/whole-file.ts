// Session stores of the library: one object, named by the path of its sessions.json. The entries are in a database beside that
// file (whole-database.ts), or in the file itself (WholeFile): then every change rewrites the file.
import type { SessionEntry } from '../../domain/session.ts'
import type { LockOptions } from '../disk/file-lock.ts'
import { checkEntry } from '../session-rules.ts'
import { SessionsFile, type SessionsFileOptions } from './sessions-file.ts'

export class WholeFile implements WholeStore {
  readonly #file: SessionsFile

  constructor(options: SessionsFileOptions) {
    this.#file = new SessionsFile(options)
  }

  load(options?: { skipCache?: boolean }): SessionRecord {
    return recordOf(structuredClone(this.#file.read(options).entries))
  }

  get(key: string): SessionEntry | undefined {
    return structuredClone(this.#file.read().entries.get(key))
  }

  update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T> {
    return this.#file.change(async (draft) => {
      const before = draft.all()
      const store = recordOf(structuredClone(before))
      const value = await mutate(store)
      for (const [key, entry] of Object.entries(store)) {
        checkEntry(key, entry)
        const old = before.get(key)
        if (!old || JSON.stringify(old) !== JSON.stringify(entry)) draft.set(key, entry)
      }
      for (const key of before.keys()) if (!Object.hasOwn(store, key)) draft.delete(key)
      return value
    })
  }

  updateEntry(key: string, change: EntryChange): Promise<SessionEntry | undefined> {
    return this.#file.change(async (draft) => {
      const after = await change(draft.get(key))
      if (after === undefined) return draft.get(key)
      checkEntry(key, after)
      draft.set(key, after)
      return after
    })
  }

  withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T> {
    return this.#file.withLock(fn, options)
  }

  async writeFile(): Promise<void> {}

  async finish(): Promise<void> {}

  forget(): void {
    this.#file.forget()
  }
}

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
