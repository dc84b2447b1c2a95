// Session rows in PostgreSQL. An update reads, changes and writes with the revision that it read, and starts again on a
// conflict. Updates of one key are queued inside a process, so conflicts come from other machines only.
import type { Session, SessionEntry } from '../../domain/session.ts'
import { KeyedQueue } from '../../domain/async.ts'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { leanEntry, splitEntry, wholeEntry } from '../sqlite/entry-columns.ts'
import { checkEntry, checkKey, checkLabelIsFree, filterOf, sessionsNamed } from '../session-rules.ts'
import { RecentRows } from '../recent-rows.ts'
import type { Change, ListFilter, SessionPage, SessionStore, Update } from '../session-store.ts'
import type { Postgres } from './connection.ts'
import { callEach, type GroupedCall } from './grouped-calls.ts'
import { columnsOf, isWritten, putAll, type SessionRow } from './session-table.ts'
import { numbered, storable } from './sql.ts'

interface Attempt {
  entry?: SessionEntry
}

const maxAttempts = 100
const columns = 'key, entry, bulk, revision'
const deleteSession = `DELETE FROM session WHERE agent = $1 AND key = $2 RETURNING ${columns}`
const putSession = 'SELECT put_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS done'
const putTypes = 'text text text bigint text float8 float8 text text text text text'
const getEach = `SELECT place, s.* FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS call (agent, key, place),
  LATERAL (SELECT ${columns} FROM session WHERE agent = call.agent AND key = call.key LIMIT 1) AS s`

export class PostgresSessions implements SessionStore {
  readonly agentId: string
  #postgres: Postgres
  #updates = new KeyedQueue()
  #recent = new RecentRows<SessionRow>()
  #getRow: GroupedCall<SessionRow>
  #putRow: GroupedCall<{ f: boolean }>

  constructor(agentId: string, postgres: Postgres) {
    this.agentId = agentId
    this.#postgres = postgres
    this.#getRow = postgres.grouped('read', getEach)
    this.#putRow = postgres.grouped('write', callEach('put_session', putTypes))
  }

  async get(key: string): Promise<SessionEntry | undefined> {
    const row = await this.#row(key)
    return row && wholeEntry(row)
  }

  async peek(key: string): Promise<SessionEntry | undefined> {
    const [session] = await this.#lean('key = ?', [storable(key)])
    return session?.entry
  }

  async list(filter: ListFilter = {}): Promise<SessionPage> {
    const { where, values } = filterOf(filter, 'position(? in search_text) > 0')
    const terms = values.map(storable)
    const page = [filter.limit ?? null, filter.offset ?? 0]
    const [sessions, total] = await Promise.all([
      this.#lean(`${where} ORDER BY updated_at DESC, key LIMIT ? OFFSET ?`, [...terms, ...page]),
      this.#count(filter, where, terms),
    ])
    return { total, sessions }
  }

  async find(ref: string): Promise<Session[]> {
    const found = await this.#lean(
      `(key = $2 OR label = $2 OR session_id LIKE $3)
       ORDER BY key = $2 DESC, (session_id = $2 OR label = $2) DESC NULLS LAST, updated_at DESC LIMIT 100`,
      [storable(ref), `${storable(ref).replaceAll(/[\\%_]/g, '\\$&')}%`],
    )
    return sessionsNamed(ref, found)
  }

  update(key: string, change: Change): Promise<SessionEntry | undefined> {
    return this.#updates.run(key, () => {
      // An attempt whose reply was lost may have been written; the change must not be applied to its own result.
      const attempted: Attempt = {}
      return this.#postgres.untilBack(() => this.#update(key, change, attempted))
    })
  }

  /** Writes as many rows together as possible; rows with a conflict, or refused ones, are retried one by one. */
  async updateAll(updates: Update[]): Promise<Array<PromiseSettledResult<SessionEntry | undefined>>> {
    const done = await putAll(this.#postgres, this.agentId, updates)
    return Promise.allSettled(
      updates.map(async ({ key, change }, place) => {
        const written = done.get(place)
        return written ? written.entry : this.update(key, change)
      }),
    )
  }

  delete(key: string): Promise<SessionEntry | undefined> {
    return this.#updates.run(key, async () => {
      const [row] = await this.#postgres.write<SessionRow>(deleteSession, [this.agentId, storable(key)])
      this.#recent.delete(key)
      return row && wholeEntry(row)
    })
  }

  /** The server keeps a deleted row in its files until it vacuums them. */
  async purge(key: string): Promise<void> {
    await this.delete(key)
  }

  async move(from: string, to: string): Promise<SessionEntry | undefined> {
    checkKey(this.agentId, to)
    const entry = await this.get(from)
    if (entry && !(await this.peek(to))) {
      await this.#postgres.transaction(async ({ rows }) => {
        const [row] = await rows<SessionRow>(deleteSession, [this.agentId, storable(from)])
        if (!row) return
        const values = [this.#postgres.member, this.agentId, to, 0, ...columnsOf(to, wholeEntry(row))]
        const [put] = await rows<{ done: boolean }>(putSession, values)
        if (!put!.done) throw new RockpoolError('conflict', `${to} was created by another process meanwhile.`)
      })
    }
    return this.get(to)
  }

  async *entries(): AsyncIterable<Session> {
    for (let last = 0; ;) {
      const sql = `SELECT id, ${columns} FROM session WHERE agent = $1 AND id > $2 ORDER BY id LIMIT 500`
      const rows = await this.#postgres.read<SessionRow & { id: number }>(sql, [this.agentId, last])
      for (const row of rows) yield { key: row.key, agentId: this.agentId, entry: wholeEntry(row) }
      if (rows.length === 0) return
      last = rows.at(-1)!.id
    }
  }

  /** Rows are checked when they are written, and the database keeps them whole. */
  async damage(): Promise<string[]> {
    return []
  }

  async close(): Promise<void> {
    await this.#updates.idle()
  }

  async #update(key: string, change: Change, attempted: Attempt): Promise<SessionEntry | undefined> {
    checkKey(this.agentId, key)
    const recent = attempted.entry ? undefined : this.#recent.get(key)
    const updated = recent && (await this.#updateRecent(key, change, recent, attempted))
    if (updated) return updated
    for (let tries = 1; tries <= maxAttempts; tries++) {
      const row = await this.#row(key)
      if (row && attempted.entry && isWritten(row, attempted.entry)) return attempted.entry
      const found = row && wholeEntry(row)
      const label = found?.label
      const after = change(found)
      // `change` may have modified the entry that it got.
      if (after === undefined) return row && wholeEntry(row)
      checkEntry(key, after)
      attempted.entry = after
      if (await this.#put(key, after, label, row?.revision ?? 0)) return after
      delete attempted.entry
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10))
    }
    throw new RockpoolError('busy', `Other processes keep changing ${key}.`, {
      hint: 'Try again in a moment.',
    })
  }

  /** The row of a moment ago is mostly still the present one; then it is not read again. Undefined if it is not, or if the change
   *  must see the present one to decide. */
  async #updateRecent(
    key: string,
    change: Change,
    row: SessionRow,
    attempted: Attempt,
  ): Promise<SessionEntry | undefined> {
    this.#recent.delete(key)
    const found = wholeEntry(row)
    const { label } = found
    const after = attempt(() => change(found))
    if (after === undefined) return undefined
    checkEntry(key, after)
    attempted.entry = after
    if (await this.#put(key, after, label, row.revision)) return after
    delete attempted.entry
    return undefined
  }

  async #put(
    key: string,
    after: SessionEntry,
    labelBefore: string | undefined,
    revision: number,
  ): Promise<boolean> {
    const { lean, bulk } = splitEntry(after)
    const columns = columnsOf(key, after, { lean, bulk })
    const values = [this.#postgres.member, this.agentId, key, revision, ...columns]
    const isLabelled = after.label && after.label !== labelBefore
    const isDone = isLabelled
      ? await this.#putLabelled(key, after, labelBefore, values)
      : (await this.#putRow(values, key))[0]!.f
    // The database chooses the revision of a new row.
    if (isDone && revision > 0) this.#recent.set(key, { key, entry: lean, bulk, revision: revision + 1 })
    return isDone
  }

  /** Updates that set the same label wait for each other. */
  #putLabelled(
    key: string,
    after: SessionEntry,
    labelBefore: string | undefined,
    values: unknown[],
  ): Promise<boolean> {
    return this.#postgres.transaction(async ({ rows }) => {
      await rows('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [this.agentId, after.label])
      const sql = 'SELECT key FROM session WHERE agent = $1 AND label = $2 AND key <> $3 LIMIT 1'
      const [owner] = await rows<{ key: string }>(sql, [this.agentId, storable(after.label!), key])
      checkLabelIsFree({ label: labelBefore }, after, () => owner?.key)
      return (await rows<{ done: boolean }>(putSession, values))[0]!.done
    })
  }

  async #row(key: string): Promise<SessionRow | undefined> {
    const [row] = await this.#getRow([this.agentId, storable(key)])
    if (row) this.#recent.set(key, row)
    return row
  }

  async #count(filter: ListFilter, where: string, values: unknown[]): Promise<number> {
    const { archived, activeSince, search, label, spawnedBy } = filter
    const isPlain = [activeSince, search, label, spawnedBy].every((one) => one === undefined)
    const [sql, terms] = isPlain
      ? [
          'SELECT sum(n)::bigint AS total FROM session_count WHERE agent = $1 AND archived = $2',
          [archived === true],
        ]
      : [numbered(`SELECT count(*) AS total FROM session WHERE agent = ? AND ${where}`), values]
    const [row] = await this.#postgres.read<{ total: number | null }>(sql, [this.agentId, ...terms])
    return row?.total ?? 0
  }

  /** Sessions without their large fields. The agent is the first value, and `values` follow. */
  async #lean(where: string, values: unknown[]): Promise<Session[]> {
    const sql = numbered(`SELECT key, entry FROM session WHERE agent = ? AND ${where}`)
    const rows = await this.#postgres.read<{ key: string; entry: string }>(sql, [this.agentId, ...values])
    return rows.map((row) => ({ key: row.key, agentId: this.agentId, entry: leanEntry(row) }))
  }
}
