// The seeds' session store: one object in one file, loaded, saved and updated as a whole or one entry at a time.
import { randomUUID } from 'node:crypto'
import { systemClock } from '../domain/clock.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { LockOptions } from '../store/disk/file-lock.ts'
import { storeAt } from './stores.ts'

export { clearSessionStoreCacheForTest } from './stores.ts'

/** A copy of all entries. Throws `damaged` rather than giving an empty store for a file that cannot be read. */
export function loadSessionStore(
  storePath: string,
  opts: { skipCache?: boolean } = {},
): Record<string, SessionEntry> {
  return storeAt(storePath).load(opts)
}

/** Makes the store, and sessions.json, hold exactly these entries. To change some of many, `updateSessionStore` is the safe way. */
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

/** `mutator` changes what it is given. It may run again when others changed the same entries meanwhile. */
export function updateSessionStore<T>(
  storePath: string,
  mutator: (store: Record<string, SessionEntry>) => T | Promise<T>,
): Promise<T> {
  return storeAt(storePath).update(mutator)
}

/** The entry as it is afterwards; null when there is none. A null patch changes nothing. `update` may run again when
 *  others changed the same entry meanwhile. */
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

/** Keeps all other writers out while `fn` runs; the functions of this library may be used inside. */
export function withSessionStoreLock<T>(
  storePath: string,
  fn: () => Promise<T>,
  opts: Pick<LockOptions, 'timeoutMs' | 'pollIntervalMs' | 'staleMs'> = {},
): Promise<T> {
  return storeAt(storePath).withLock(fn, opts)
}

/** A new entry gets an id; no merge makes an entry older. */
export function mergeEntry(existing: SessionEntry | undefined, patch: Partial<SessionEntry>): SessionEntry {
  const sessionId = patch.sessionId ?? existing?.sessionId ?? randomUUID()
  const updatedAt = Math.max(existing?.updatedAt ?? 0, patch.updatedAt ?? 0, systemClock.now())
  return { ...existing, ...patch, sessionId, updatedAt }
}
