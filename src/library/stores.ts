// The seeds' functions take a path and nothing else. So the library, unlike the program, keeps what it has opened.
import { resolve } from 'node:path'
import { systemClock } from '../domain/clock.ts'
import { silentLog } from '../domain/log.ts'
import { readEnvironment } from '../store/config-file.ts'
import { openWholeStore } from '../store/files/whole-store.ts'
import type { WholeStore } from '../store/files/whole-store.ts'

const opened = new Map<string, WholeStore>()

export function storeAt(storePath: string): WholeStore {
  const path = resolve(storePath)
  let store = opened.get(path)
  if (!store) {
    const cacheTtlMs = (): number => readEnvironment().sessionCacheTtlMs ?? 45_000
    store = openWholeStore(path, { clock: systemClock, log: silentLog, cacheTtlMs })
    opened.set(path, store)
  }
  return store
}

/** Forgets what was read, so that the next load reads the file. */
export function clearSessionStoreCacheForTest(): void {
  for (const store of opened.values()) store.forget()
}
