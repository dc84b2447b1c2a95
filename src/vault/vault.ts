// The vault: copies of every session's files, so that a session can be restored after the program that made it has deleted
// it. Whatever fails here never affects the sessions themselves.
import { KeyedQueue } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { isFile } from '../store/disk/foreign-file.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { join } from 'node:path'
import { keepSession, type SessionToKeep } from './keep.ts'
import { RecordStore } from './record-store.ts'
import { restoreFile, type RestoredFile } from './restore.ts'
import { openSeal } from './seal.ts'
import { verifyRecords, type VerifyReport } from './verify.ts'

export interface VaultParts {
  folder: string
  indexFile: string
  /** The passphrase, or the content of the key file; undefined for a vault that is not encrypted. */
  secret: Buffer | undefined
  clock: Clock
  log: Log
}

export interface KeptSession {
  sessionId: string
  agent: string
  /** The transcript, where it was. */
  filePath: string
  root: string
  /** The transcript is not there any more. */
  isGone: boolean
  about: Record<string, unknown>
}

/** So much new content is written before it is committed: bounds what a crash makes to do again. */
const batchBytes = 32 * 1024 * 1024

export class Vault {
  readonly #store: RecordStore
  readonly #clock: Clock
  /** One writer at a time in this process; the lock is for other processes. */
  readonly #writes = new KeyedQueue()

  constructor(store: RecordStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Keeps what changed in these sessions; resolves to the bytes that were read. It is on disk then. */
  keep(sessions: readonly SessionToKeep[], signal?: AbortSignal): Promise<number> {
    return this.#writes.run('', async () => {
      let read = 0
      for (let next = 0; next < sessions.length && !signal?.aborted; ) {
        await this.#store.write('keep sessions', async (batch) => {
          while (next < sessions.length && batch.rawBytes < batchBytes && !signal?.aborted) {
            const session = sessions[next++]!
            if (this.#isWanted(session)) read += await keepSession(this.#store, batch, session, this.#clock.now())
          }
        })
      }
      return read
    })
  }

  /** The kept sessions, from the index alone. */
  async sessions(): Promise<KeptSession[]> {
    await this.#store.refresh()
    return this.#store.index.sessions().map(({ session, root, path, agent, about }) => ({
      sessionId: session,
      agent,
      root,
      filePath: join(root, path),
      isGone: !isFile(join(root, path)),
      about: JSON.parse(about) as Record<string, unknown>,
    }))
  }

  /** By its id or the beginning of it. */
  async find(idOrPrefix: string): Promise<KeptSession> {
    const wanted = idOrPrefix.toLowerCase()
    const found = (await this.sessions()).filter(({ sessionId }) => sessionId.startsWith(wanted))
    const one = found.find(({ sessionId }) => sessionId === wanted) ?? (found.length === 1 ? found[0] : undefined)
    if (one && wanted !== '') return one
    throw new RockpoolError(
      found.length === 0 ? 'not-found' : 'ambiguous',
      `${found.length === 0 ? 'No session' : `${found.length} sessions`} in the vault begin with ${JSON.stringify(idOrPrefix.slice(0, 80))}.`,
      { hint: '`rockpool vault list` shows all of them.' },
    )
  }

  files(sessionId: string): FileRow[] {
    return this.#store.index.files(sessionId)
  }

  /** Puts the files of a session back where they were, or below `root`. */
  async restore(sessionId: string, root?: string): Promise<RestoredFile[]> {
    await this.#store.refresh()
    const restored: RestoredFile[] = []
    // The transcript last: a session that can be seen has its other files already.
    const files = this.files(sessionId).sort((a, b) => Number(a.about !== null) - Number(b.about !== null))
    for (const file of files) restored.push(await restoreFile(this.#store, file, root))
    return restored
  }

  async verify(onProgress?: (done: { bytes: number; of: number }) => void): Promise<VerifyReport> {
    await this.#store.refresh()
    return verifyRecords(this.#store, onProgress)
  }

  async close(): Promise<void> {
    await this.#writes.idle()
    await this.#store.close()
  }

  /** A session that was removed is kept again only if it changed since, and was not removed for good. */
  #isWanted({ sessionId }: SessionToKeep): boolean {
    const removed = this.#store.index.removal(sessionId)
    return removed === undefined || removed.forever === 0
  }
}

export async function openVault(parts: VaultParts): Promise<Vault> {
  const seal = await openSeal(parts.folder, parts.secret)
  return new Vault(new RecordStore({ ...parts, seal }), parts.clock)
}
