// The seeds' session store where sessions.json itself holds the entries: every change rewrites the file.
import type { SessionEntry } from '../../domain/session.ts'
import type { LockOptions } from '../disk/file-lock.ts'
import { checkEntry } from '../session-rules.ts'
import { SessionsFile } from './sessions-file.ts'
import type { SessionsFileOptions } from './sessions-file.ts'
import { recordOf } from './whole-store.ts'
import type { EntryChange, SessionRecord, WholeStore } from './whole-store.ts'

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
