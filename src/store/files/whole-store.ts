// A session store as the seeds see it: one object that is loaded and changed as a whole, named by the path of its
// sessions.json. Where a database stands beside that file, the database is what is read and changed.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { Database } from '../sqlite/database.ts'
import type { Queries } from '../sqlite/database.ts'
import { wholeEntry } from '../sqlite/entry-columns.ts'
import { FileLock } from '../disk/file-lock.ts'
import type { LockOptions } from '../disk/file-lock.ts'
import { agentOfFolder } from '../paths.ts'
import { checkEntry } from '../session-rules.ts'
import { readRow, removeRow, sessionMigrations, wholeRow, writeRow } from '../sqlite/session-table.ts'
import type { SessionRow } from '../sqlite/session-table.ts'
import { SessionsFile } from './sessions-file.ts'
import { SessionsJsonMirror } from './sessions-json-mirror.ts'

/** Without a prototype, so that every key is only a key. */
export type SessionRecord = Record<string, SessionEntry>

export interface WholeStore {
  load(options?: { skipCache?: boolean }): SessionRecord
  /** Loads, lets `mutate` change what it is given, and saves what it changed. Nobody's change in between is lost. */
  update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T>
  withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T>
  forget(): void
}

export interface WholeStoreParts {
  clock: Clock
  log: Log
  cacheTtlMs: () => number
}

export function openWholeStore(path: string, parts: WholeStoreParts): WholeStore {
  const database = join(dirname(path), 'sessions.sqlite')
  return existsSync(database) ? new DatabaseStore(path, database, parts) : new FileStore(path, parts)
}

class FileStore implements WholeStore {
  readonly #file: SessionsFile

  constructor(path: string, parts: WholeStoreParts) {
    this.#file = new SessionsFile({ path, ...parts })
  }

  load(options?: { skipCache?: boolean }): SessionRecord {
    return recordOf(structuredClone(this.#file.read(options).entries))
  }

  update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T> {
    return this.#file.change(async (draft) => {
      const before = draft.all()
      const { store, value } = await mutateCopy(before, mutate)
      for (const [key, entry] of differences(before, store)) {
        if (entry) draft.set(key, entry)
        else draft.delete(key)
      }
      return value
    })
  }

  withLock<T>(fn: () => Promise<T>, options?: LockOptions): Promise<T> {
    return this.#file.withLock(fn, options)
  }

  forget(): void {
    this.#file.forget()
  }
}

class DatabaseStore implements WholeStore {
  readonly #path: string
  readonly #db: Database
  readonly #mirror: SessionsJsonMirror
  readonly #clock: Clock

  constructor(path: string, database: string, { clock, log }: WholeStoreParts) {
    this.#path = path
    this.#clock = clock
    this.#db = Database.open(database, sessionMigrations)
    this.#mirror = new SessionsJsonMirror({
      agentId: agentOfFolder(dirname(path)),
      db: this.#db,
      path,
      clock,
      log,
    })
  }

  load(): SessionRecord {
    return recordOf(new Map(this.#rows().map((row) => [row.key, wholeEntry(row)])))
  }

  async update<T>(mutate: (store: SessionRecord) => T | Promise<T>): Promise<T> {
    await this.#mirror.catchUp()
    for (let attempt = 0; attempt < 20; attempt++) {
      const rows = new Map(this.#rows().map((row) => [row.key, row]))
      const before = new Map([...rows].map(([key, row]) => [key, wholeEntry(row)]))
      const { store, value } = await mutateCopy(before, mutate)
      const changes = differences(before, store)
      const saved = changes.size === 0 || (await this.#db.write((q) => this.#save(q, rows, changes)))
      if (saved && changes.size > 0) this.#mirror.schedule()
      if (saved) return value
    }
    throw new RockpoolError(
      'conflict',
      `${this.#path}: others changed the same sessions 20 times in a row.`,
      {
        hint: 'Change one entry at a time, with updateSessionStoreEntry.',
      },
    )
  }

  withLock<T>(fn: () => Promise<T>, options: LockOptions = {}): Promise<T> {
    return new FileLock(this.#path, { clock: this.#clock, ...options }).hold('hold', fn)
  }

  forget(): void {}

  #rows(): SessionRow[] {
    return this.#db.read((q) => q.all<SessionRow>(`${wholeRow} ORDER BY session.id`))
  }

  /** All or nothing: false when somebody has changed one of them since it was read. */
  #save(q: Queries, seen: Map<string, SessionRow>, changes: Map<string, SessionEntry | undefined>): boolean {
    const isAsSeen = (key: string): boolean => readRow(q, key)?.revision === seen.get(key)?.revision
    if (![...changes.keys()].every(isAsSeen)) return false
    const now = this.#clock.now()
    for (const [key, entry] of changes) {
      if (entry) writeRow(q, key, entry, seen.get(key), now)
      else removeRow(q, key, now)
    }
    return true
  }
}

async function mutateCopy<T>(
  before: ReadonlyMap<string, SessionEntry>,
  mutate: (store: SessionRecord) => T | Promise<T>,
): Promise<{ store: SessionRecord; value: T }> {
  const store = recordOf(structuredClone(before))
  const value = await mutate(store)
  return { store, value }
}

/** What the store holds now that it did not hold before; undefined for what is gone. */
function differences(
  before: ReadonlyMap<string, SessionEntry>,
  store: SessionRecord,
): Map<string, SessionEntry | undefined> {
  const changes = new Map<string, SessionEntry | undefined>()
  for (const [key, entry] of Object.entries(store)) {
    const old = before.get(key)
    checkEntry(key, entry)
    if (!old || JSON.stringify(old) !== JSON.stringify(entry)) changes.set(key, entry)
  }
  for (const key of before.keys()) if (!Object.hasOwn(store, key)) changes.set(key, undefined)
  return changes
}

function recordOf(entries: ReadonlyMap<string, SessionEntry>): SessionRecord {
  const record: SessionRecord = Object.create(null) as SessionRecord
  for (const [key, entry] of entries) record[key] = entry
  return record
}
