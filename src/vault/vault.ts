// The vault: copies of every session's files, so that a session can be restored after the program that made it has deleted
// it. Whatever fails here never affects the sessions themselves.
import { parseStored } from '../domain/json.ts'
import { KeyedQueue } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { modifiedAt, namesIn } from '../store/disk/foreign-file.ts'
import { readingPrefix } from '../store/paths.ts'
import type { FileRow, SessionRow } from '../store/sqlite/vault-index.ts'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { keepSession, type SessionToKeep } from './keep.ts'
import { changedAt, existenceCheck } from './kept-source.ts'
import { keepInThread } from './keep-thread.ts'
import { RecordStore } from './record-store.ts'
import { planPrune, removeSessions, rewritePacks, usedBytes, type PrunePlan } from './remove.ts'
import { contentOf, placeOf, restoreFile, type RestoredFile } from './restore.ts'
import { repairFiles } from './repair.ts'
import { openSeal } from './seal.ts'
import { sealAll } from './seal-all.ts'
import { damagedPacks, verifyRecords, type VerifyReport } from './verify.ts'

interface VaultParts {
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
  /** The transcript, where it was; `<database>#<session id>` for rows of a database. */
  filePath: string
  root: string
  /** The transcript is not there any more. */
  isGone: boolean
  about: Record<string, unknown>
}

function keptSessions(rows: readonly SessionRow[]): KeptSession[] {
  const isThere = existenceCheck()
  return rows.map(({ session, root, path, agent, about }) => {
    const filePath = join(root, path)
    const isGone = !isThere(filePath)
    return {
      sessionId: session,
      agent,
      root,
      filePath,
      isGone,
      about: parseStored<KeptSession['about']>(about),
    }
  })
}

/** An older copy for reading was left behind by a process that ended early. */
const leftoverMs = 3_600_000

/** How much new content is written before a commit. A crash makes at most this much work necessary again. */
const batchBytes = 128 * 1024 * 1024

export class Vault {
  readonly #store: RecordStore
  readonly #parts: VaultParts
  readonly #clock: Clock
  /** One writer at a time in this process; the lock is for other processes. */
  readonly #writes = new KeyedQueue()

  constructor(store: RecordStore, parts: VaultParts) {
    this.#store = store
    this.#parts = parts
    this.#clock = parts.clock
  }

  /** Keeps what changed in these sessions, until `isEnough`; resolves to the bytes that were read. It is on disk then. */
  keep(sessions: SessionsToKeep, isEnough = (): boolean => false): Promise<number> {
    return this.#writes.run('', async () => {
      let read = 0
      const waiting = eachOf(sessions)
      for (let next = await waiting.next(); !next.done && !isEnough();) {
        await this.#store.write('keep sessions', async (batch) => {
          for (; !next.done && batch.rawBytes < batchBytes && !isEnough(); next = await waiting.next()) {
            if (this.#isWanted(next.value))
              read += await keepSession(this.#store, batch, next.value, this.#clock.now())
          }
        })
      }
      return read
    })
  }

  /** Like `keep`, for many sessions: in a thread, so that this one can do other work. */
  keepInThread(sessions: SessionsToKeep, signal?: AbortSignal): Promise<number> {
    const { folder, indexFile, secret } = this.#parts
    return this.#writes.run('', () => keepInThread({ folder, indexFile, secret }, sessions, signal))
  }

  /** The kept sessions, from the index alone. */
  async sessions(): Promise<KeptSession[]> {
    await this.#store.refresh()
    return keptSessions(this.#store.index.sessions())
  }

  /** The kept sessions whose transcript is not there any more. Every list asks for them, so sessions that are known to be
   *  `present` are neither read nor looked for. */
  async gone(present: ReadonlySet<string> = new Set()): Promise<KeptSession[]> {
    await this.#store.refresh()
    const missing = new Set(this.#store.index.sessionIds().filter((id) => !present.has(id)))
    if (missing.size === 0) return []
    const rows = this.#store.index.sessions().filter(({ session }) => missing.has(session))
    return keptSessions(rows).filter(({ isGone }) => isGone)
  }

  /** By its id or the beginning of it. */
  async find(idOrPrefix: string): Promise<KeptSession> {
    const hint = '`rockpool vault list` shows all of them.'
    return oneBeginning(await this.sessions(), idOrPrefix, { where: 'in the vault', hint })
  }

  files(sessionId: string): FileRow[] {
    return this.#store.index.files(sessionId)
  }

  /** Puts the files of a session back where they were, or below `root`; its transcript last. */
  async restore(sessionId: string, root?: string): Promise<RestoredFile[]> {
    await this.#store.refresh()
    const restored: RestoredFile[] = []
    // The transcript last: a session that can be seen has its other files already.
    const files = this.files(sessionId).sort((a, b) => Number(a.about !== null) - Number(b.about !== null))
    // If one must not be written, none is.
    const places = files.map((file) => ({ file, path: placeOf(file, root) }))
    for (const { file, path } of places) restored.push(await restoreFile(this.#store, file, path))
    return restored
  }

  async verify(onProgress?: (done: { bytes: number; of: number }) => void): Promise<VerifyReport> {
    await this.#store.refresh()
    return verifyRecords(this.#store, onProgress)
  }

  /** A quick look finds packs that were overwritten or cut; a deep one reads every byte, as `verify` does. */
  async damagedPacks(isDeep = false): Promise<string[]> {
    if (!isDeep) return damagedPacks(this.#store)
    const { damage } = await this.verify()
    return [...new Set(damage.map(({ pack }) => join(this.#store.packs.folder, pack)))]
  }

  /** Stores damaged chunks again where the original file is still there; resolves to how many files were repaired. */
  async repair({ files, lost }: Pick<VerifyReport, 'files' | 'lost'>): Promise<number> {
    return repairFiles(this.#store, files, lost, (sessions) => this.keep(sessions))
  }

  /** Which sessions would be removed to have at most `maxBytes`. */
  async planPrune(maxBytes: number, evenYoung: boolean): Promise<PrunePlan> {
    await this.#store.refresh()
    return planPrune(this.#store, { maxBytes, evenYoung, clock: this.#clock })
  }

  /** Removes these sessions; they are kept again only if they change. */
  prune(sessionIds: readonly string[]): Promise<void> {
    const how = { at: this.#clock.now(), forever: false, isSecret: false }
    return this.#writes.run('', () => removeSessions(this.#store, sessionIds, how))
  }

  /** Removes every byte of these sessions that no other session needs; they are not kept again until `allowAgain`. */
  purge(sessionIds: readonly string[]): Promise<void> {
    const how = { at: this.#clock.now(), forever: true, isSecret: true }
    return this.#writes.run('', () => removeSessions(this.#store, sessionIds, how))
  }

  /** The ids of the sessions that were purged. */
  async purged(): Promise<string[]> {
    await this.#store.refresh()
    const removed = this.#store.index.removals().filter(({ forever }) => forever === 1)
    return removed.map(({ session }) => session)
  }

  /** Purged sessions may be kept again: one, by its id or the beginning of it, or all. What was purged stays deleted. */
  async allowAgain(idOrPrefix?: string): Promise<void> {
    const purged = await this.purged()
    const wanted = idOrPrefix === undefined ? purged : [findPurged(purged, idOrPrefix)]
    await this.#writes.run('', () =>
      this.#store.write('allow sessions again', async (batch) => {
        for (const session of wanted) batch.remove({ session, at: 0, forever: false })
      }),
    )
  }

  /** Frees the room of versions that were replaced, and encrypts what is not encrypted yet. */
  compact(): Promise<void> {
    return this.#writes.run('', async () => {
      await this.#store.refresh()
      await sealAll(this.#store)
      await rewritePacks(this.#store)
      removeLeftovers(this.#parts.folder, this.#clock.now())
    })
  }

  get isEncrypted(): boolean {
    return this.#store.seal.isSealed
  }

  async size(): Promise<{ sessions: number; files: number; originalBytes: number; bytes: number }> {
    await this.#store.refresh()
    const files = this.#store.index.files()
    return {
      sessions: new Set(files.map(({ session }) => session)).size,
      files: files.length,
      originalBytes: files.reduce((sum, { size }) => sum + size, 0),
      bytes: await usedBytes(this.#store),
    }
  }

  /** The bytes of a kept file. */
  content(file: FileRow): AsyncGenerator<Buffer> {
    return contentOf(this.#store, file)
  }

  async close(): Promise<void> {
    await this.#writes.idle()
    await this.#store.close()
  }

  /** A session that was removed is kept again only if it changed since, and was not removed for good. */
  #isWanted({ sessionId, files }: SessionToKeep): boolean {
    const removed = this.#store.index.removal(sessionId)
    if (!removed || this.files(sessionId).length > 0) return true
    return removed.forever === 0 && changedAt(files[0]!) > removed.at
  }
}

function findPurged(purged: readonly string[], idOrPrefix: string): string {
  const sessions = purged.map((sessionId) => ({ sessionId }))
  const hint =
    'Write more of the id, or keep all of them again: `rockpool vault keep --purged`. Sessions that were not purged are kept without being named: `rockpool vault keep`.'
  return oneBeginning(sessions, idOrPrefix, { where: 'of those that were purged', hint }).sessionId
}

function oneBeginning<T extends { sessionId: string }>(
  sessions: readonly T[],
  idOrPrefix: string,
  { where, hint }: { where: string; hint: string },
): T {
  const wanted = idOrPrefix.toLowerCase()
  const found = sessions.filter(({ sessionId }) => sessionId.toLowerCase().startsWith(wanted))
  const one =
    found.find(({ sessionId }) => sessionId === idOrPrefix) ?? (found.length === 1 ? found[0] : undefined)
  if (one && wanted !== '') return one
  const given = JSON.stringify(idOrPrefix.slice(0, 80))
  if (found.length === 0)
    throw new RockpoolError('not-found', `No session ${where} begins with ${given}.`, { hint })
  throw new RockpoolError('ambiguous', `${found.length} sessions ${where} begin with ${given}.`, { hint })
}

/** Sessions one after another: their files are listed only when it is their turn. */
type SessionsToKeep = Iterable<SessionToKeep> | AsyncIterable<SessionToKeep>

async function* eachOf(sessions: SessionsToKeep): AsyncGenerator<SessionToKeep> {
  yield* sessions
}

/** Copies for reading (`readingPrefix`) that a process left behind when it ended early. */
function removeLeftovers(folder: string, now: number): void {
  for (const name of namesIn(folder).filter((one) => one.startsWith(readingPrefix))) {
    const path = join(folder, name)
    if (now - modifiedAt(path) > leftoverMs) rmSync(path, { recursive: true, force: true })
  }
}

export async function openVault(parts: VaultParts): Promise<Vault> {
  const seal = await openSeal(parts.folder, parts.secret)
  return new Vault(new RecordStore({ ...parts, seal }), parts)
}
