// The library's session store on a database: an update of one entry reads and writes one row, however many there are.
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, statSync } from 'node:fs'
import { KeyedQueue } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { Database } from './database.ts'
import type { Queries } from './queries.ts'
import { splitEntry, wholeEntry } from './entry-columns.ts'
import { FileLock, type LockOptions } from '../disk/file-lock.ts'
import { checkEntry } from '../session-rules.ts'
import { readRow, removeRow, sessionMigrations, wholeRow, writeRow } from './session-table.ts'
import type { SessionRow } from './session-table.ts'
import { nestedChange } from '../files/sessions-file.ts'
import { SessionsJsonMirror } from '../files/sessions-json-mirror.ts'
import { recordOf, type EntryChange, type SessionRecord, type WholeStore } from '../files/whole-file.ts'

interface WholeDatabaseOptions {
  path: string
  database: string
  /** Whose sessions these are; undefined when several agents share the store. */
  agentId: string | undefined
  clock: Clock
  log: Log
}

interface Opened {
  db: Database
  mirror: SessionsJsonMirror
  inode: number
}

/** What the calling code runs in: a change, which must not start another change, or the lock of this store. */
interface CallContext {
  isChange?: boolean
  /** The transaction that keeps all others out; undefined after its end. */
  held?: { queries: Queries | undefined }
}

type Changes = Map<string, SessionEntry | undefined>

/** After this many conflicts the next attempt locks out all other writers. */
const unlockedAttempts = 3

export class WholeDatabase implements WholeStore {
  readonly #options: WholeDatabaseOptions
  #opened: Opened | undefined
  #context = new AsyncLocalStorage<CallContext>()
  /** Updates of one key by this process run one after another. */
  #updates = new KeyedQueue()

  /** Nothing is opened or created before the first use. */
  constructor(options: WholeDatabaseOptions) {
    this.#options = options
  }

  load(): SessionRecord {
    return recordOf(this.#read(allRows, []).map((row) => [row.key, wholeEntry(row)]))
  }

  get(key: string): SessionEntry | undefined {
    const row = this.#read((q) => readRow(q, key), undefined)
    return row && wholeEntry(row)
  }

  async update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T> {
    const once = async (): Promise<{ value: T } | undefined> => {
      const rows = new Map(this.#queries(allRows).map((row) => [row.key, row]))
      const store = recordOf([...rows].map(([key, row]) => [key, wholeEntry(row)]))
      const value = await this.#changing(() => mutate(store))
      const changes = differences(rows, store)
      const isSaved = changes.size === 0 || (await this.#save(rows, changes))
      return isSaved ? { value } : undefined
    }
    return (await this.#untilSaved(once)).value
  }

  updateEntry(key: string, change: EntryChange): Promise<SessionEntry | undefined> {
    // Inside the lock updates run one after another already, and waiting for an update outside would never end.
    if (this.#context.getStore()) return this.#updateEntry(key, change)
    return this.#updates.run(key, () => this.#updateEntry(key, change))
  }

  async #updateEntry(key: string, change: EntryChange): Promise<SessionEntry | undefined> {
    const once = async (): Promise<{ entry: SessionEntry | undefined } | undefined> => {
      const row = this.#queries((q) => readRow(q, key))
      const after = await this.#changing(() => change(row && wholeEntry(row)))
      if (after === undefined) return { entry: row && wholeEntry(row) }
      checkEntry(key, after)
      const isSaved = await this.#save(new Map(row && [[key, row]]), new Map([[key, after]]))
      return isSaved ? { entry: after } : undefined
    }
    return (await this.#untilSaved(once)).entry
  }

  /** Locks out all other writers, also of other processes. What `fn` wrote is on disk when this resolves. */
  async withLock<T>(fn: () => Promise<T>, options: LockOptions = {}): Promise<T> {
    if (this.#context.getStore()?.held?.queries) return fn()
    const { path, clock } = this.#options
    await this.#openedNow().mirror.catchUp()
    const lock = new FileLock(path, { clock, ...options })
    return lock.hold('hold', () => this.#exclusively(fn, options.timeoutMs))
  }

  /** Runs `fn` in one transaction of its own connection, so that no other writer can interfere. */
  async #exclusively<T>(fn: () => Promise<T>, busyMs?: number): Promise<T> {
    const writer = Database.open(this.#options.database, sessionMigrations, { busyMs })
    const held: CallContext['held'] = { queries: writer.queries }
    try {
      return await writer.exclusively(() => this.#context.run({ held }, fn))
    } finally {
      held.queries = undefined
      await writer.close()
    }
  }

  async writeFile(): Promise<void> {
    if (!this.#context.getStore()?.held?.queries) await this.#opened?.mirror.writeNow()
  }

  async finish(): Promise<void> {
    await this.#opened?.mirror.finish()
  }

  forget(): void {}

  /** Tries without a lock first; after several conflicts, with all other writers locked out. */
  async #untilSaved<T>(once: () => Promise<T | undefined>): Promise<T> {
    const context = this.#context.getStore()
    if (context?.isChange) throw nestedChange(this.#options.path)
    if (!context?.held?.queries) await this.#openedNow().mirror.catchUp()
    for (let attempt = 0; ; attempt++) {
      const needsLock = attempt >= unlockedAttempts && !context?.held?.queries
      const done = await (needsLock ? this.#exclusively(once) : once())
      if (done !== undefined) return done
    }
  }

  #changing<T>(fn: () => T): T {
    return this.#context.run({ ...this.#context.getStore(), isChange: true }, fn)
  }

  /** All or nothing: false if one of the rows was changed since it was read. */
  async #save(seen: Map<string, SessionRow>, changes: Changes): Promise<boolean> {
    const now = this.#options.clock.now()
    const isSaved = await this.#transact((q) => {
      const isAsSeen = (key: string): boolean => readRow(q, key)?.revision === seen.get(key)?.revision
      if (![...changes.keys()].every(isAsSeen)) return false
      for (const [key, entry] of changes) {
        if (entry) writeRow(q, key, entry, seen.get(key), now)
        else removeRow(q, key, now)
      }
      return true
    })
    if (isSaved) this.#openedNow().mirror.schedule()
    return isSaved
  }

  /** Runs `fn` in a transaction of its own, or in a savepoint if the caller's lock has a transaction open. */
  async #transact<T>(fn: (q: Queries) => T): Promise<T> {
    const held = this.#context.getStore()?.held?.queries
    return held ? inSavepoint(held, fn) : this.#openedNow().db.write(fn)
  }

  #queries<T>(fn: (q: Queries) => T): T {
    const held = this.#context.getStore()?.held?.queries
    return held ? fn(held) : this.#openedNow().db.read(fn)
  }

  /** With the edits of sessions.json by others imported; `nothing` if neither database nor file exists. */
  #read<T>(fn: (q: Queries) => T, nothing: T): T {
    const { database, path } = this.#options
    if (!existsSync(database) && !existsSync(path)) return nothing
    if (!this.#context.getStore()?.held?.queries) this.#openedNow().mirror.catchUpNow()
    return this.#queries(fn)
  }

  /** Opens the database again if it was removed or replaced: writes to the old file would be lost. */
  #openedNow(): Opened {
    const { database, path, agentId, clock, log } = this.#options
    const inode = statSync(database, { throwIfNoEntry: false })?.ino
    if (this.#opened && inode === this.#opened.inode) return this.#opened
    const removed = this.#opened
    if (removed) void removed.mirror.drop().then(() => removed.db.close())
    const db = Database.open(database, sessionMigrations)
    const mirror = new SessionsJsonMirror({ agentId, db, path, clock, log })
    this.#opened = { db, mirror, inode: statSync(database).ino }
    return this.#opened
  }
}

function allRows(q: Queries): SessionRow[] {
  return q.all<SessionRow>(`${wholeRow} ORDER BY session.id`)
}

function inSavepoint<T>(queries: Queries, fn: (q: Queries) => T): T {
  queries.exec('SAVEPOINT part')
  try {
    const value = fn(queries)
    queries.exec('RELEASE part')
    return value
  } catch (error) {
    queries.exec('ROLLBACK TO part; RELEASE part')
    throw error
  }
}

/** What the store holds now that it did not hold before; undefined for what is gone. */
function differences(rows: ReadonlyMap<string, SessionRow>, store: SessionRecord): Changes {
  const changes: Changes = new Map()
  for (const [key, entry] of Object.entries(store)) {
    const row = rows.get(key)
    checkEntry(key, entry)
    const { lean, bulk } = splitEntry(entry)
    if (!row || row.entry !== lean || row.bulk !== bulk) changes.set(key, entry)
  }
  for (const key of rows.keys()) if (!Object.hasOwn(store, key)) changes.set(key, undefined)
  return changes
}
