// One SQLite database: opened, migrated, read, and written in groups. Writes of the same moment share one transaction and one
// sync to disk; each write resolves after that sync. Other processes may write to the same file: we wait for them without
// blocking the event loop.
import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { refuseOddDatabase } from '../disk/foreign-file.ts'
import { DamagedContent, asDatabaseError, isBusy } from './database-errors.ts'
import { makeDatabase, migrate, refuseEmpty, type Migration } from './migrations.ts'
import { LogSync } from './log-sync.ts'
import { makeQueries, type Finished, type Queries } from './queries.ts'

export interface DatabaseOptions {
  /** `full` survives a power cut; `relaxed` may lose the last writes but stays consistent. For what can be rebuilt. */
  durability?: 'full' | 'relaxed'
  readOnly?: boolean
  /** Nothing else has the content: an empty file is reported as damaged, and not filled again. */
  isOnlyCopy?: boolean
  /** How long a write waits for other processes. */
  busyMs?: number
}

const readerWaitMs = 2_000
const defaultBusyMs = 10_000

/** From this many writes on, the event loop has other work during a sync. */
const largeGroup = 8

/** The log is checkpointed at 16 MB. With SQLite's default of 4 MB a busy gateway spends most of its time on checkpoints. */
const checkpointPages = 4_000

interface PendingWrite {
  fn: (queries: Queries) => unknown
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

export class Database {
  readonly path: string
  readonly queries: Queries
  #db: DatabaseSync
  #sharedByWrites = new Map<string, Finished>()
  #isSharedReadOpen = false
  #isChecked = false
  #pending: PendingWrite[] = []
  #flushing: Promise<void> | undefined
  #busyMs: number
  /** Absent where a power cut may lose the last writes. */
  #log: LogSync | undefined
  /** The last sync failed, or has not ended. */
  #isInDoubt = false

  private constructor(path: string, db: DatabaseSync, { busyMs, durability }: DatabaseOptions) {
    this.path = path
    this.#db = db
    this.#busyMs = busyMs ?? defaultBusyMs
    this.#log = durability === 'relaxed' || path === ':memory:' ? undefined : new LogSync(path)
    this.queries = makeQueries(db, this.#sharedByWrites)
  }

  static open(path: string, migrations: Migration[], options: DatabaseOptions = {}): Database {
    const { busyMs = defaultBusyMs } = options
    const deadline = systemClock.monotonic() + busyMs
    for (;;) {
      try {
        return new Database(path, openNow(path, migrations, options), options)
      } catch (error) {
        // While processes open a new database at the same moment, SQLite answers some of them "locked" without waiting.
        if (!isBusy(error) || systemClock.monotonic() > deadline) throw asDatabaseError(error, path)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 20)
      }
    }
  }

  read<T>(fn: (queries: Queries) => T): T {
    try {
      return fn(this.queries)
    } catch (error) {
      throw asDatabaseError(error, this.path)
    }
  }

  /** A small read that shares one read transaction with the other small reads of this moment: taking and releasing the locks
   *  costs more than reading a row. */
  sharedRead<T>(fn: (queries: Queries) => T): T {
    return this.read((queries) => {
      if (!this.#isSharedReadOpen && !this.#db.isTransaction) {
        this.#db.exec('BEGIN')
        this.#isSharedReadOpen = true
        process.nextTick(() => this.#endSharedRead())
      }
      return fn(queries)
    })
  }

  #endSharedRead(): void {
    if (!this.#isSharedReadOpen) return
    this.#isSharedReadOpen = false
    this.#db.exec('COMMIT')
  }

  /** Runs `fn` in a transaction and resolves after the sync. If `fn` throws, only its own changes are undone. When another
   *  write of the group throws, `fn` runs a second time: it must do nothing that a rollback does not undo. */
  write<T>(fn: (queries: Queries) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ fn, resolve: resolve as (value: unknown) => void, reject })
      this.#flushing ??= this.#flush()
    })
  }

  /** Resolves when everything that reads can see now is on disk. */
  async synced(): Promise<void> {
    if (this.#flushing || this.#isInDoubt) await this.write(() => undefined)
  }

  /** Keeps all other writers out while `fn` runs. What `fn` wrote is committed, also when `fn` throws. */
  async exclusively<T>(fn: () => Promise<T>): Promise<T> {
    try {
      await this.#begin()
      try {
        return await fn()
      } finally {
        if (this.#db.isTransaction) this.#commit()
        await this.#sync(1)
      }
    } catch (error) {
      throw asDatabaseError(error, this.path)
    }
  }

  /** Runs `fn` in a transaction at once. Returns undefined, without running `fn`, when another process is writing. */
  tryNow<T>(fn: (queries: Queries) => T): T | undefined {
    this.#endSharedRead()
    if (this.#db.isTransaction) return undefined
    this.#sharedByWrites.clear()
    try {
      this.#db.exec('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE')
      const value = fn(this.queries)
      this.#commit()
      this.#log?.syncNow()
      return value
    } catch (error) {
      if (this.#db.isTransaction) this.#rollback()
      if (isBusy(error)) return undefined
      throw asDatabaseError(error, this.path)
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${readerWaitMs}`)
    }
  }

  /** Rewrites the file, so that no deleted byte is left in it, in its log, or in a copy from before a migration. */
  async rewrite(): Promise<void> {
    await this.#whenFree(() => this.#db.exec('VACUUM'))
    await this.emptyLog()
    if (this.path === ':memory:') return
    const folder = dirname(this.path)
    const copy = `${basename(this.path)}.before-migration-`
    for (const name of readdirSync(folder)) if (name.startsWith(copy)) rmSync(join(folder, name))
  }

  async emptyLog(): Promise<void> {
    await this.#whenFree(() => {
      const { busy } = this.#db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
      if (busy !== 0) throw new Error('SQLITE_BUSY: another connection still reads the log')
    })
  }

  /** Throws `damaged` unless pages, indexes and types are valid. Only the first call checks: 10,000 sessions take about
   *  25 ms. */
  checkOnce(): void {
    if (this.#isChecked) return
    const faults = this.faults(1)
    if (faults.length > 0) throw asDatabaseError(new DamagedContent(faults[0]), this.path)
    this.#isChecked = true
  }

  faults(limit: number): string[] {
    const rows = this.read((q) => q.all<{ integrity_check: string }>(`PRAGMA integrity_check(${limit})`))
    return rows.map((row) => row.integrity_check).filter((fault) => fault !== 'ok')
  }

  async close(): Promise<void> {
    await this.#flushing
    this.#endSharedRead()
    this.#db.close()
    this.#log?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #flush(): Promise<void> {
    while (this.#pending.length > 0) {
      // One turn of the event loop: other writes of this moment join the group.
      await new Promise((resolve) => setImmediate(resolve))
      const group = this.#pending.splice(0, 500)
      await this.#writeGroup(group)
    }
    this.#flushing = undefined
  }

  /** Nearly every group succeeds. Only when one of several writes threw, the group runs again with a savepoint for each write: with a
   *  savepoint SQLite copies every page that a statement changes. */
  async #writeGroup(group: PendingWrite[], hasSavepoints = false): Promise<void> {
    const answers: Array<() => void> = []
    try {
      await this.#begin()
      for (const write of group) answers.push(hasSavepoints ? this.#runInSavepoint(write) : this.#run(write))
      this.#commit()
      await this.#sync(group.length)
    } catch (error) {
      // A full or failing disk may have ended the transaction; then all writes of the group fail.
      const isOpen = this.#db.isOpen && this.#db.isTransaction
      if (isOpen) this.#rollback()
      if (isOpen && !hasSavepoints && group.length > 1) return this.#writeGroup(group, true)
      for (const write of group) write.reject(asDatabaseError(error, this.path))
      return
    }
    for (const answer of answers) answer()
  }

  /** A large group is synced in the thread pool: writes that are requested meanwhile form the next group. A small one is synced at
   *  once, so that no read sees it before it is on disk. */
  async #sync(writes: number): Promise<void> {
    if (!this.#log) return
    // After a failed sync the kernel may have dropped what it could not write, and report success the next time. A checkpoint
    // writes everything again, to the database itself.
    if (this.#isInDoubt) await this.emptyLog()
    this.#isInDoubt = true
    if (writes < largeGroup) this.#log.syncNow()
    else await this.#log.sync()
    this.#isInDoubt = false
  }

  #run(write: PendingWrite): () => void {
    const value = write.fn(this.queries)
    return () => write.resolve(value)
  }

  #runInSavepoint(write: PendingWrite): () => void {
    this.#db.exec('SAVEPOINT one')
    try {
      const answer = this.#run(write)
      this.#db.exec('RELEASE one')
      return answer
    } catch (error) {
      if (!this.#db.isTransaction) throw error
      this.#db.exec('ROLLBACK TO one; RELEASE one')
      return () => write.reject(asDatabaseError(error, this.path))
    }
  }

  #begin(): Promise<void> {
    return this.#whenFree(() => {
      this.#sharedByWrites.clear()
      this.#db.exec('BEGIN IMMEDIATE')
    })
  }

  #commit(): void {
    for (const work of this.#sharedByWrites.values()) work.finish()
    this.#sharedByWrites.clear()
    this.#db.exec('COMMIT')
  }

  #rollback(): void {
    this.#sharedByWrites.clear()
    this.#db.exec('ROLLBACK')
  }

  /** Waits for other writers without blocking the event loop. */
  async #whenFree(work: () => void): Promise<void> {
    const deadline = systemClock.monotonic() + this.#busyMs
    for (const started = systemClock.monotonic(); ;) {
      try {
        this.#endSharedRead()
        if (this.#db.isTransaction) throw new Error('SQLITE_BUSY: a group is being written')
        this.#db.exec('PRAGMA busy_timeout = 0')
        return work()
      } catch (error) {
        if (!isBusy(error) || systemClock.monotonic() > deadline) throw error
      } finally {
        this.#db.exec(`PRAGMA busy_timeout = ${readerWaitMs}`)
      }
      // Most writers finish within a millisecond, so the first retries come quickly.
      const wait = Math.min(1 + (systemClock.monotonic() - started) / 10, 25)
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())))
    }
  }
}

function openNow(path: string, migrations: Migration[], options: DatabaseOptions): DatabaseSync {
  const { durability = 'full', readOnly = false, isOnlyCopy = false, busyMs = defaultBusyMs } = options
  if (path !== ':memory:') refuseOddDatabase(path)
  if (isOnlyCopy) refuseEmpty(path)
  if (!readOnly && path !== ':memory:') makeDatabase(path, migrations)
  const db = new DatabaseSync(path, { readOnly, timeout: busyMs, allowExtension: true })
  try {
    db.exec('PRAGMA foreign_keys = ON')
    if (!readOnly) {
      db.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${checkpointPages}`)
      // What can be rebuilt needs no copy, and purged content must not survive in one.
      migrate(db, path, migrations, durability === 'full')
      // Commits are synced by us (log-sync.ts).
      db.exec('PRAGMA synchronous = NORMAL')
    }
    // A reader waits rarely and briefly: during a recovery, or while the last connection closes.
    db.exec(`PRAGMA busy_timeout = ${readerWaitMs}`)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Opens a database whose content can be rebuilt: an index, a copy. A damaged or newer one is deleted and created again. */
export function openOrRecreate<T>(open: () => T, remove: (error: RockpoolError) => void): T {
  try {
    return open()
  } catch (error) {
    const isUseless =
      error instanceof RockpoolError && (error.code === 'damaged' || error.code === 'schema-newer')
    if (!isUseless) throw error
    remove(error)
    return open()
  }
}

/** No connection may have it open. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
