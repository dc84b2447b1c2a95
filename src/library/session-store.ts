// The library's session store: one object in one file, loaded, saved and updated as a whole or by entry.
import { randomUUID } from 'node:crypto'
import { systemClock } from '../domain/clock.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { LockOptions } from '../store/disk/file-lock.ts'
import { storeAt } from './stores.ts'

export { clearSessionStoreCacheForTest } from './stores.ts'

/** A copy of all entries. Throws `damaged` if the file cannot be read, and never returns an empty store instead. */
export function loadSessionStore(
  storePath: string,
  opts: { skipCache?: boolean } = {},
): Record<string, SessionEntry> {
  return storeAt(storePath).load(opts)
}

/** Replaces all entries, in the store and in sessions.json. `updateSessionStore` is safer for changes of some entries. */
export async function saveSessionStore(
  storePath: string,
  store: Record<string, SessionEntry>,
): Promise<void> {
  const saved = storeAt(storePath)
  await saved.update((current) => {
    for (const key of Object.keys(current)) if (!Object.hasOwn(store, key)) delete current[key]
    for (const [key, entry] of Object.entries(store)) current[key] = entry
  })
  await saved.writeFile()
}

/** `mutator` changes its argument. If another writer changed the same entries meanwhile, `mutator` is called again. */
export function updateSessionStore<T>(
  storePath: string,
  mutator: (store: Record<string, SessionEntry>) => T | Promise<T>,
): Promise<T> {
  return storeAt(storePath).update(mutator)
}

/** Resolves to the updated entry; null if there is none. A null patch changes nothing. `update` runs again if another writer
 *  changed the same entry meanwhile. */
export async function updateSessionStoreEntry(params: {
  storePath: string
  sessionKey: string
  update: (entry: SessionEntry) => Partial<SessionEntry> | null | Promise<Partial<SessionEntry> | null>
}): Promise<SessionEntry | null> {
  const entry = await storeAt(params.storePath).updateEntry(params.sessionKey, (existing) => {
    if (!existing) return undefined
    const merge = (patch: Partial<SessionEntry> | null): SessionEntry | undefined =>
      patch ? mergeEntry(existing, patch) : undefined
    const patch = params.update(structuredClone(existing))
    return patch instanceof Promise ? patch.then(merge) : merge(patch)
  })
  return entry ?? null
}

/** Holds the lock of the store while `fn` runs; functions of this library may be used inside. */
export function withSessionStoreLock<T>(
  storePath: string,
  fn: () => Promise<T>,
  opts: Pick<LockOptions, 'timeoutMs' | 'pollIntervalMs' | 'staleMs'> = {},
): Promise<T> {
  return storeAt(storePath).withLock(fn, opts)
}

/** A new entry gets an id; `updatedAt` never decreases. */
export function mergeEntry(existing: SessionEntry | undefined, patch: Partial<SessionEntry>): SessionEntry {
  const sessionId = patch.sessionId ?? existing?.sessionId ?? randomUUID()
  const updatedAt = Math.max(existing?.updatedAt ?? 0, patch.updatedAt ?? 0, systemClock.now())
  return { ...existing, ...patch, sessionId, updatedAt }
}
