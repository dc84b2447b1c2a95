// Session rows in SQLite, one database for each agent: the default store. An update costs the same however many
// sessions there are. Beside it a sessions.json is kept for OpenClaw's tools (sessions-json-mirror.ts).
import { existsSync, statSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Session, SessionEntry } from '../../domain/session.ts'
import { Database } from './database.ts'
import type { Queries } from './queries.ts'
import { leanEntry, wholeEntry } from './entry-columns.ts'
import { checkEntry, checkKey, checkLabelIsFree, filterOf, sessionsNamed } from '../session-rules.ts'
import { RecentRows } from '../recent-rows.ts'
import type { Change, ListFilter, SessionPage, SessionStore, Update } from '../session-store.ts'
import { leanRow, pagesOf, readRow, removeRow, sessionMigrations, writeRow } from './session-table.ts'
import type { LeanRow, SessionRow } from './session-table.ts'
import { SessionsJsonMirror } from '../files/sessions-json-mirror.ts'
import { removeCopiesOf } from '../files/recover-sessions.ts'

interface SqliteSessionsOptions {
  agentId: string
  database: string
  mirror: string
  clock: Clock
  log: Log
  durability?: 'full' | 'relaxed'
}

/** A damaged index hides rows without an error. A check of this size takes a few milliseconds. */
const checkedAtOpenBytes = 4 * 1024 * 1024

/** A page of at most this many sessions is kept until a session changes. */
const mostRemembered = 101

interface Changed {
  entry: SessionEntry | undefined
  /** Absent if nothing was changed. */
  row?: SessionRow
}

/** A row, and the entry that the last `get` returned for it. */
interface RecentRow extends SessionRow {
  given?: SessionEntry
}

interface Opened {
  db: Database
  mirror: SessionsJsonMirror
}

export class SqliteSessions implements SessionStore {
  readonly agentId: string
  readonly #options: SqliteSessionsOptions
  #opening: Promise<Opened> | undefined
  #opened: Opened | undefined
  /** For `peek`: until when sessions.json need not be checked again. */
  #checkedUntil = -Infinity
  #recent = new RecentRows<RecentRow>()
  /** Every open page of the dashboard asks for the same list after a change. */
  #lastPage: { asked: string; page: SessionPage } | undefined

  /** Nothing is opened or created before the first use. */
  constructor(options: SqliteSessionsOptions) {
    this.agentId = options.agentId
    this.#options = options
  }

  async get(key: string): Promise<SessionEntry | undefined> {
    const db = this.#upToDate()?.db ?? (await this.#toRead())
    const row = db?.sharedRead((q) => this.#row(q, key))
    if (!row) return undefined
    this.#recent.set(key, row)
    return (row.given = wholeEntry(row))
  }

  async peek(key: string): Promise<SessionEntry | undefined> {
    const isChecked = this.#checkedUntil > this.#options.clock.monotonic()
    const db = isChecked ? this.#opened?.db : await this.#checkAgain()
    const row = db?.sharedRead((q) => q.get<LeanRow>(`${leanRow} WHERE key = ?`, key))
    return row && leanEntry(row)
  }

  async list(filter: ListFilter = {}): Promise<SessionPage> {
    const db = await this.#toRead()
    return db ? db.read((q) => this.#listPage(q, filter)) : { total: 0, sessions: [] }
  }

  #listPage(queries: Queries, filter: ListFilter): SessionPage {
    const { limit = Infinity } = filter
    if (limit > mostRemembered) return listPage(queries, this.agentId, filter)
    const state = queries.get<{ revision: number }>('SELECT revision FROM store_state')
    const asked = `${state?.revision} ${JSON.stringify(filter)}`
    if (this.#lastPage?.asked !== asked)
      this.#lastPage = { asked, page: listPage(queries, this.agentId, filter) }
    const { total, sessions } = this.#lastPage.page
    return { total, sessions: sessions.map((session) => ({ ...session, entry: { ...session.entry } })) }
  }

  async find(ref: string): Promise<Session[]> {
    const db = await this.#toRead()
    const found = db?.read((q) => candidates(q, this.agentId, ref)) ?? []
    return sessionsNamed(ref, found)
  }

  async update(key: string, change: Change, known?: SessionEntry): Promise<SessionEntry | undefined> {
    checkKey(this.agentId, key)
    return await this.#write(key, (q, now) => {
      const row = this.#row(q, key)
      const isKnown = known !== undefined && row?.given === known
      return updateRow(q, key, row, isKnown ? known : row && wholeEntry(row), change, now)
    })
  }

  updateAll(updates: Update[]): Promise<Array<PromiseSettledResult<SessionEntry | undefined>>> {
    return Promise.allSettled(updates.map(({ key, change }) => this.update(key, change)))
  }

  async delete(key: string): Promise<SessionEntry | undefined> {
    if (!(await this.#toRead())) return undefined
    const { db, mirror } = await this.#open()
    const row = await db.write((q) => {
      const before = readRow(q, key)
      if (before) removeRow(q, key, this.#options.clock.now())
      return before
    })
    if (row) mirror.schedule()
    return row && wholeEntry(row)
  }

  async purge(key: string): Promise<void> {
    if (!(await this.#toRead())) return
    const { db, mirror } = await this.#open()
    await db.write((q) => {
      if (readRow(q, key)) removeRow(q, key, this.#options.clock.now())
      for (const table of ['set_aside', 'unusable']) q.run(`DELETE FROM ${table} WHERE key = ?`, key)
    })
    await mirror.writeNow()
    await db.rewrite()
    removeCopiesOf(this.#options.mirror, key)
  }

  async move(from: string, to: string): Promise<SessionEntry | undefined> {
    checkKey(this.agentId, to)
    return await this.#write(to, (q, now) => moveRow(q, from, to, now))
  }

  async *entries(): AsyncIterable<Session> {
    const db = await this.#toRead()
    if (!db) return
    for (const rows of pagesOf(db, 100))
      for (const row of rows) yield { key: row.key, agentId: this.agentId, entry: wholeEntry(row) }
  }

  async damage(): Promise<string[]> {
    const db = await this.#toRead()
    return db ? db.read(describeDamage) : []
  }

  /** The process is about to end: makes sure that sessions.json will contain what was saved. */
  async finish(): Promise<void> {
    await (await this.#opening)?.mirror.finish()
  }

  async close(): Promise<void> {
    if (!this.#opening) return
    const { db, mirror } = await this.#opening
    await mirror.close()
    await db.close()
    this.#opening = undefined
    this.#opened = undefined
    this.#checkedUntil = -Infinity
    this.#recent.clear()
  }

  async #write(key: string, change: (q: Queries, now: number) => Changed): Promise<SessionEntry | undefined> {
    const { db, mirror } = this.#upToDate() ?? (await this.#catchUp())
    const { entry, row } = await db.write((q) => change(q, this.#options.clock.now()))
    if (!row) return entry
    this.#recent.set(key, row)
    mirror.schedule()
    return entry
  }

  #row(q: Queries, key: string): RecentRow | undefined {
    const recent = this.#recent.get(key)
    const now = recent && q.get<{ revision: number }>('SELECT revision FROM session WHERE key = ?', key)
    return recent && recent.revision === now?.revision ? recent : readRow(q, key)
  }

  /** The open database; undefined if it is not open, or if edits of sessions.json by other programs must be imported first. */
  #upToDate(): Opened | undefined {
    return this.#opened?.mirror.isBehind() === false ? this.#opened : undefined
  }

  async #catchUp(): Promise<Opened> {
    const opened = await this.#open()
    if (opened.mirror.isBehind()) await opened.mirror.catchUp()
    return opened
  }

  /** Undefined when neither the database nor sessions.json exists. */
  async #toRead(): Promise<Database | undefined> {
    const { database, mirror } = this.#options
    if (!this.#opening && !existsSync(database) && !existsSync(mirror)) return undefined
    return (await this.#catchUp()).db
  }

  async #checkAgain(): Promise<Database | undefined> {
    const db = await this.#toRead()
    // While there is no database, every call must check again.
    if (db) this.#checkedUntil = this.#options.clock.monotonic() + 50
    return db
  }

  #open(): Promise<Opened> {
    this.#opening ??= openWithMirror(this.#options).then(
      (opened) => (this.#opened = opened),
      (error: unknown) => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }
}

async function openWithMirror(options: SqliteSessionsOptions): Promise<Opened> {
  const { agentId, database, clock, log, durability } = options
  const db = Database.open(database, sessionMigrations, { durability })
  if (statSync(database).size <= checkedAtOpenBytes) db.checkOnce()
  const mirror = new SessionsJsonMirror({ agentId, db, path: options.mirror, clock, log })
  await mirror.open()
  return { db, mirror }
}

function updateRow(
  queries: Queries,
  key: string,
  row: SessionRow | undefined,
  found: SessionEntry | undefined,
  change: Change,
  now: number,
): Changed {
  const before = { label: found?.label }
  const after = change(found)
  // `change` may have modified the entry that it got, so it is read again.
  if (after === undefined) return { entry: row && wholeEntry(row) }
  checkEntry(key, after)
  checkLabelIsFree(before, after, (label) => labelOwner(queries, label, key))
  return { entry: after, row: writeRow(queries, key, after, row, now) }
}

function moveRow(queries: Queries, from: string, to: string, now: number): Changed {
  const [row, there] = [readRow(queries, from), readRow(queries, to)]
  if (there || !row) return { entry: there && wholeEntry(there) }
  const entry = wholeEntry(row)
  removeRow(queries, from, now)
  return { entry, row: writeRow(queries, to, entry, undefined, now) }
}

function labelOwner(queries: Queries, label: string, except: string): string | undefined {
  return queries.get<{ key: string }>('SELECT key FROM session WHERE label = ? AND key <> ?', label, except)
    ?.key
}

function listPage(queries: Queries, agentId: string, filter: ListFilter): SessionPage {
  const { limit = -1, offset = 0 } = filter
  const { where, values } = filterOf(filter, 'instr(search_text, ?) > 0')
  const page = `${leanRow} WHERE ${where} ORDER BY updated_at DESC, key LIMIT ? OFFSET ?`
  const rows = queries.all<LeanRow>(page, ...values, limit, offset)
  const isPlain = values.length === 0
  const known = isPlain ? storedCount(queries, filter.archived === true) : undefined
  const total = known ?? countRows(queries, where, values)
  return { total, sessions: rows.map((row) => ({ key: row.key, agentId, entry: leanEntry(row) })) }
}

/** The count that triggers keep. Undefined if a byte of it changed. */
function storedCount(queries: Queries, isArchived: boolean): number | undefined {
  const sql = 'SELECT n, check_sum FROM session_count WHERE archived = ?'
  const row = queries.get<{ n: number; check_sum: number }>(sql, Number(isArchived))
  return row && row.n + row.check_sum === 0 ? row.n : undefined
}

function countRows(queries: Queries, where: string, values: SQLInputValue[]): number {
  const sql = `SELECT count(*) AS total FROM session WHERE ${where}`
  return queries.get<{ total: number }>(sql, ...values)!.total
}

/** Sessions that `ref` may mean, exact matches first. */
function candidates(queries: Queries, agentId: string, ref: string): Session[] {
  const rows = queries.all<LeanRow>(
    `${leanRow}
     WHERE key = ?1 OR label = ?1 OR (session_id >= ?1 AND session_id < ?1 || char(1114111))
     ORDER BY key = ?1 DESC, session_id = ?1 OR label = ?1 DESC, updated_at DESC LIMIT 100`,
    ref,
  )
  return rows.map((row) => ({ key: row.key, agentId, entry: leanEntry(row) }))
}

function describeDamage(queries: Queries): string[] {
  const unusable = queries.all<{ key: string; fault: string }>('SELECT key, fault FROM unusable ORDER BY key')
  const aside = queries.all<{ key: string; why: string }>('SELECT key, why FROM set_aside ORDER BY id')
  return [
    ...unusable.map(({ key, fault }) => `the entry of ${key} ${fault}`),
    ...aside.map(({ key, why }) => `an earlier entry of ${key} was set aside: ${why}`),
  ]
}
