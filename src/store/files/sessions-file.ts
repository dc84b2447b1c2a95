// One sessions.json on disk: read through a cache, changed under its lock by one writer at a time, replaced as a whole. Changes
// that are requested during a write become part of the next write.
import { AsyncLocalStorage } from 'node:async_hooks'
import { appendFileSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { SessionEntry } from '../../domain/session.ts'
import {
  ensureDirectory,
  fileIdentity,
  readFileSafely,
  removeAbandonedFiles,
  writeFileAtomically,
} from '../disk/atomic-file.ts'
import type { FileIdentity } from '../disk/atomic-file.ts'
import { FileLock, type HeldLock, type Lock, type LockOptions } from '../disk/file-lock.ts'
import { recoverSessions, timestamp } from './recover-sessions.ts'
import { formatEntry, formatSessions, parseSessions } from './sessions-text.ts'
import type { Member, SessionsContent, Unusable } from './sessions-text.ts'

export interface SessionsFileOptions {
  path: string
  clock: Clock
  log: Log
  /** How long the cache is valid while the file looks unchanged; 0 disables it. */
  cacheTtlMs?: number | (() => number)
  /** For tests, which also use broken locks. */
  lock?: Lock
  write?: typeof writeFileAtomically
}

/** The content of a sessions.json. Shared by all readers, so it is immutable. */
interface FileContent extends SessionsContent {
  identity: FileIdentity | undefined
  /** For people: what could not be read. */
  damage: string[]
  /** The file was unreadable and this content was recovered; the file is set aside before it is replaced. */
  recovered: boolean
}

/** The entries as one writer sees and changes them; changes take effect when the writer returns. */
export interface Draft {
  get(key: string): SessionEntry | undefined
  set(key: string, entry: SessionEntry): void
  delete(key: string): void
  /** All entries, shared: read only. */
  all(): ReadonlyMap<string, Readonly<SessionEntry>>
}

interface Waiting {
  change: (draft: Draft) => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

const backupEveryMs = 60_000
const settleMs = 100

export class SessionsFile {
  readonly path: string
  readonly #options: SessionsFileOptions
  readonly #lock: Lock
  readonly #write: typeof writeFileAtomically
  /** The identity of the damaged file that was logged last. */
  #logged: FileContent['identity']
  #cache: { content: FileContent; readAt: number } | undefined
  // Entries are replaced, never mutated, so the cached text of an entry stays valid.
  #texts = new WeakMap<SessionEntry, string>()
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  /** What the calling code already runs inside: a change, or the lock with its changes. */
  #around = new AsyncLocalStorage<'change' | { held: HeldLock; last: Promise<void> }>()
  #swept = false

  constructor(options: SessionsFileOptions) {
    this.path = options.path
    this.#options = options
    this.#lock = options.lock ?? new FileLock(options.path, { clock: options.clock })
    this.#write = options.write ?? writeFileAtomically
  }

  /** Throws `damaged` if the file cannot be read or recovered. */
  read(options: { skipCache?: boolean } = {}): FileContent {
    const { clock, cacheTtlMs: ttl = 45_000 } = this.#options
    const cacheTtlMs = typeof ttl === 'function' ? ttl() : ttl
    const now = clock.monotonic()
    const fresh = this.#cache && now - this.#cache.readAt < cacheTtlMs && !options.skipCache
    if (fresh && fileIdentity(this.path) === this.#cache!.content.identity) return this.#cache!.content
    this.#cache = undefined
    const content = readContent(this.path)
    this.#tellRecovered(content)
    if (cacheTtlMs > 0) this.#cache = { content, readAt: now }
    return content
  }

  /** Logs that the rows are recovered ones; once for each version of the file. */
  #tellRecovered({ recovered, identity, damage }: FileContent): void {
    if (!recovered || this.#logged === identity) return
    this.#logged = identity
    this.#options.log.error(
      { event: 'sessions-json-damaged', path: this.path },
      `${damage.join('; ')}. The file is unchanged until the next write, which rebuilds it.`,
    )
  }

  forget(): void {
    this.#cache = undefined
  }

  /** Resolves when the change is on disk. If `change` throws, only its own changes are dropped. */
  change<T>(change: (draft: Draft) => T | Promise<T>): Promise<T> {
    const around = this.#around.getStore()
    if (around === 'change') return Promise.reject(nestedChange(this.path))
    return new Promise<T>((resolve, reject) => {
      const one: Waiting = { change, resolve: resolve as (value: unknown) => void, reject }
      if (around) {
        around.last = around.last.then(() => this.#writeBatch([one], around.held)).catch(reject)
        return
      }
      this.#waiting.push(one)
      this.#writing ??= this.#writeAll()
    })
  }

  /** Runs `fn` while no other writer of any process can change the file; `fn` itself can. */
  async withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T> {
    if (this.#around.getStore()) return fn()
    await this.#prepareFolder()
    const lock = options ? new FileLock(this.path, { clock: this.#options.clock, ...options }) : this.#lock
    return lock.hold('hold', (held) => this.#around.run({ held, last: Promise.resolve() }, fn))
  }

  async close(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      try {
        await this.#prepareFolder()
        await this.#lock.hold('update', (held) => {
          // Changes that were requested while we waited for the lock are part of this batch.
          this.#waiting = []
          return this.#writeBatch(batch, held)
        })
      } catch (error) {
        if (this.#waiting === batch) this.#waiting = []
        this.forget()
        for (const one of batch) one.reject(error)
      }
    }
    this.#writing = undefined
  }

  async #writeBatch(batch: Waiting[], held: HeldLock): Promise<void> {
    if (held.wasAbandoned) this.forget()
    const content = await this.#readSettled()
    const entries = new Map(content.entries)
    const answers: Array<() => void> = []
    for (const one of batch) answers.push(await this.#around.run('change', () => applyChange(one, entries)))
    if (!sameMembers(content.entries, entries)) await this.#save(content, entries, held)
    for (const answer of answers) answer()
  }

  async #save(content: FileContent, entries: Map<string, SessionEntry>, held: HeldLock): Promise<void> {
    const unusable = this.#makeRoom(content.unusable, entries)
    const identity = await this.#write(this.path, formatSessions(this.#batchesOf(entries, unusable)), {
      beforeCommit: () => {
        held.confirm()
        if (fileIdentity(this.path) === content.identity) return
        const message = `${this.path} was replaced while we held its lock. Nothing was changed.`
        const hint = 'Try again. Another program writes this file without its lock.'
        throw new RockpoolError('lock-lost', message, { hint })
      },
      backup: this.#backupOf(content),
    })
    if (content.recovered)
      this.#options.log.error(
        { event: 'sessions-json-rebuilt', damage: content.damage },
        `Rebuilt ${this.path}; the damaged file was set aside.`,
      )
    const saved = { entries, unusable, identity, plain: true, recovered: false, damage: describe(unusable) }
    this.#cache = { content: saved, readAt: this.#options.clock.monotonic() }
  }

  /** A file that looks damaged may be half written by a program that does not replace it in one step: read it again. */
  async #readSettled(): Promise<FileContent> {
    try {
      const content = this.read()
      if (!content.recovered) return content
    } catch (error) {
      if (asRockpoolError(error).code !== 'damaged') throw error
    }
    await sleep(settleMs)
    return this.read({ skipCache: true })
  }

  async #prepareFolder(): Promise<void> {
    await ensureDirectory(dirname(this.path))
    if (!this.#swept) await removeAbandonedFiles(dirname(this.path))
    this.#swept = true
  }

  *#batchesOf(entries: Map<string, SessionEntry>, unusable: Unusable): Generator<Member[]> {
    let batch: Member[] = []
    for (const [key, entry] of entries) {
      let text = this.#texts.get(entry)
      if (text === undefined) this.#texts.set(entry, (text = formatEntry(entry)))
      batch.push([key, text])
      if (batch.length < 1_000) continue
      yield batch
      batch = []
    }
    for (const [key, { raw }] of unusable) batch.push([key, raw])
    yield batch
  }

  /** A value that is not an entry and would be overwritten is saved in a file beside sessions.json. */
  #makeRoom(unusable: Unusable, entries: Map<string, SessionEntry>): Unusable {
    const left = new Map(unusable)
    for (const [key, { raw, fault }] of unusable) {
      if (!entries.has(key)) continue
      const line = JSON.stringify({ key, fault, raw, at: this.#options.clock.now() })
      appendFileSync(`${this.path}.set-aside.jsonl`, `${line}\n`, { mode: 0o600, flush: true })
      left.delete(key)
    }
    return left
  }

  /** The name for a copy of the replaced version; undefined if none is needed. */
  #backupOf(content: FileContent): string | undefined {
    const backup = `${this.path}.bak`
    const stats = statSync(backup, { throwIfNoEntry: false })
    const now = this.#options.clock.now()
    if (content.recovered) return `${this.path}.corrupt-${timestamp(now)}`
    if (content.identity === undefined) {
      // The file is gone; its last copy is worth more than the new content.
      if (stats) renameSync(backup, `${backup}-${timestamp(now)}`)
      return undefined
    }
    return !stats || !content.plain || now - stats.ctimeMs > backupEveryMs ? backup : undefined
  }
}

function readContent(path: string): FileContent {
  const file = readFileSafely(path)
  const nothing = { entries: new Map(), unusable: new Map(), plain: true }
  if (!file) return { ...nothing, identity: undefined, recovered: false, damage: [] }
  const { identity } = file
  try {
    const content = parseSessions(file.text, path)
    return { ...content, identity, recovered: false, damage: describe(content.unusable) }
  } catch (error) {
    const recovered = recoverSessions(path)
    if (!recovered) throw error
    const damage = [asRockpoolError(error).message, ...recovered.damage]
    return { ...recovered, identity, recovered: true, damage }
  }
}

/** Runs one change on `entries`. Its caller gets the result after the entries are saved. */
async function applyChange(one: Waiting, entries: Map<string, SessionEntry>): Promise<() => void> {
  const changes = new Map<string, SessionEntry | undefined>()
  const apply = (to: Map<string, SessionEntry>): Map<string, SessionEntry> => {
    for (const [key, entry] of changes) {
      if (entry) to.set(key, entry)
      else to.delete(key)
    }
    return to
  }
  const draft: Draft = {
    get: (key) => structuredClone(changes.has(key) ? changes.get(key) : entries.get(key)),
    set: (key, entry) => void changes.set(key, structuredClone(entry)),
    delete: (key) => void changes.set(key, undefined),
    all: () => (changes.size === 0 ? entries : apply(new Map(entries))),
  }
  try {
    const value = await one.change(draft)
    apply(entries)
    return () => one.resolve(value)
  } catch (error) {
    return () => one.reject(error)
  }
}

function sameMembers(a: Map<string, SessionEntry>, b: Map<string, SessionEntry>): boolean {
  return a.size === b.size && [...b].every(([key, entry]) => a.get(key) === entry)
}

function describe(unusable: Unusable): string[] {
  return [...unusable].map(([key, { fault }]) => `the entry of ${key} ${fault}`)
}

export function nestedChange(path: string): RockpoolError {
  return new RockpoolError('refused', `${path} is being changed by the code that asked for this change.`, {
    hint: 'Make both changes in one, or one after the other: inside the first the second could never be written.',
  })
}
