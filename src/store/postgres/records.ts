// Records of the shared database, and this machine's copy of them. Writes go to PostgreSQL; reads come from the copy, without
// waiting. The copy follows by the numbers of the records, and a writer waits until the copy has what it wrote.
import { KeyedQueue, SharedRun } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Database } from '../sqlite/database.ts'
import type { Queries } from '../sqlite/queries.ts'
import { applyRecord, clearRecords, dropOutput, isTableKind, removeRecord } from '../sqlite/record-tables.ts'
import type { NewOutput, RecordBodies, RecordKind, StoredRecord } from '../sqlite/record-tables.ts'
import type { OldRecords, PutOptions, Records } from '../sqlite/records.ts'
import type { Postgres } from './connection.ts'
import type { Members } from './members.ts'
import { onSignalAndPoll } from './signals.ts'

export interface RecordsParts {
  postgres: Postgres
  members?: Pick<Members, 'on'>
  /** The copy. It can be deleted and is rebuilt then. */
  copy: Database
  clock: Clock
  log: Log
}

const batchRows = 500
const maxAttempts = 100
const pollMs = 500

export class SharedRecords implements Records {
  #parts: RecordsParts
  #puts = new KeyedQueue()
  #pulls = new SharedRun(() => this.#pull())
  /** The start of the connection in which we checked that the copy is one of this database. */
  #checkedSince: number | undefined
  #stopFollowing: (() => void) | undefined
  #listeners = new Set<{ kind: RecordKind; listener: () => void }>()
  #isClosed = false

  constructor(parts: RecordsParts) {
    this.#parts = parts
  }

  get aheadMs(): number {
    return this.#parts.postgres.aheadMs
  }

  get backSince(): number {
    const { lastError, since } = this.#parts.postgres.health
    return lastError === undefined ? 0 : since
  }

  follow(): void {
    if (this.#stopFollowing || this.#isClosed) return
    const { members, clock } = this.#parts
    const task = (): Promise<void> => this.#catchUpOrLog()
    this.#stopFollowing = onSignalAndPoll(members, 'records', { clock, ms: pollMs }, task)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopFollowing?.()
    await this.#pulls.idle()
  }

  /** Puts of one record run one after another, over all connections: the last call decides. */
  put<K extends RecordKind>(
    kind: K,
    id: string,
    body: RecordBodies[K],
    { at, guard, merge }: PutOptions<RecordBodies[K]> = {},
  ): Promise<void> {
    return this.#puts.run(`${kind} ${id}`, async () => {
      if (!guard) return this.#put(kind, id, textOf(body), at)
      await this.#parts.postgres.untilBack(() =>
        this.update(kind, id, (stored) => {
          guard(stored)
          return merge ? merge(stored) : body
        }),
      )
    })
  }

  async remove(kind: RecordKind, id: string): Promise<boolean> {
    const stored = await this.#read(kind, id)
    if (stored.body === null) return false
    await this.#put(kind, id, null)
    return true
  }

  async update<K extends RecordKind>(
    kind: K,
    id: string,
    change: (body: RecordBodies[K] | undefined) => RecordBodies[K] | undefined,
  ): Promise<boolean> {
    const { postgres, clock } = this.#parts
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { seq, body } = await this.#read(kind, id)
      const after = change(body === null ? undefined : (JSON.parse(body) as RecordBodies[K]))
      if (after === undefined) return false
      const [put] = await postgres.write<{ seq: number | null }>(
        'SELECT put_record($1, $2, $3, $4, $5) AS seq',
        [kind, id, seq, clock.now(), textOf(after)],
      )
      if (put?.seq != null) {
        await this.catchUp()
        return true
      }
    }
    throw new RockpoolError('busy', `Other processes keep changing ${kind} ${id}.`, {
      hint: 'Try again in a moment.',
    })
  }

  async appendOutput(codingId: string, blocks: NewOutput[], keep: number): Promise<number> {
    const { postgres, copy, clock } = this.#parts
    const [row] = await postgres.write<{ last: number }>(
      'SELECT append_records($1, $2, $3, $4, $5) AS last',
      ['output', codingId, blocks.map(textOf), clock.now(), keep],
    )
    await this.catchUp()
    await copy.write((q) => dropOutput(q, codingId, row!.last - keep))
    return row!.last
  }

  /** One at a time over all machines; `make` sees every record that was created before. */
  create<K extends RecordKind>(
    kind: K,
    make: (q: Queries) => RecordBodies[K] & { id: string },
  ): Promise<RecordBodies[K]> {
    return this.#parts.postgres.transaction(
      async ({ rows }) => {
        const lock = 'SELECT pg_advisory_xact_lock(hashtext($1), hashtext(current_schema()))'
        await rows(lock, [`${kind} add`])
        await this.catchUp()
        const body = make(this.#parts.copy.queries)
        await this.put(kind, body.id, body)
        return body
      },
      { once: true },
    )
  }

  async forget(kind: RecordKind, which: OldRecords): Promise<void> {
    const [where, value] =
      'before' in which
        ? ['at < $2', which.before]
        : 'groups' in which
          ? ["split_part(id, '|', 1) = ANY ($2)", which.groups]
          : ['at < (SELECT at FROM record WHERE kind = $1 ORDER BY at DESC OFFSET $2 LIMIT 1)', which.beyond]
    await this.#parts.postgres.repeat(`DELETE FROM record WHERE kind = $1 AND ${where}`, [kind, value])
  }

  onCopied(kind: RecordKind, listener: () => void): () => void {
    const entry = { kind, listener }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  /** For readers: during an outage they get the last known state without waiting. */
  async refresh(): Promise<void> {
    if (this.#parts.postgres.health.state !== 'lost') await this.#catchUpOrLog()
  }

  /** Resolves when the copy has everything that was committed before the call. */
  catchUp(): Promise<void> {
    return this.#pulls.start()
  }

  async #put(kind: RecordKind, id: string, body: string | null, at = this.#parts.clock.now()): Promise<void> {
    await this.#parts.postgres.repeat('SELECT put_record($1, $2, NULL, $3, $4)', [kind, id, at, body])
    await this.catchUp()
  }

  /** `seq` is 0 when there is no record; `body` is null when there is none, or it was removed. */
  async #read(kind: RecordKind, id: string): Promise<{ seq: number; body: string | null }> {
    const sql = 'SELECT seq, body FROM record WHERE kind = $1 AND id = $2'
    const [row] = await this.#parts.postgres.read<{ seq: number; body: string | null }>(sql, [kind, id])
    return row ?? { seq: 0, body: null }
  }

  async #pull(): Promise<void> {
    const { postgres, copy } = this.#parts
    // After a failover it may be another server, which has fewer records.
    if (this.#checkedSince !== postgres.health.since) await this.#checkOrigin()
    this.#checkedSince = postgres.health.since
    await postgres.compareClocks()
    for (;;) {
      const sql = `SELECT kind, id, seq, body FROM record WHERE seq > $1 ORDER BY seq LIMIT ${batchRows}`
      const rows = await postgres.read<StoredRecord>(sql, [cursorOf(copy.queries)])
      if (rows.length > 0) await copy.write((q) => this.#copy(q, rows))
      this.#notify(new Set(rows.map(({ kind }) => kind)))
      if (rows.length < batchRows) return
    }
  }

  /** Another process of this machine may have copied some of them already: those are skipped. */
  #copy(q: Queries, rows: StoredRecord[]): void {
    const cursor = cursorOf(q)
    for (const row of rows) if (row.seq > cursor) this.#apply(q, row)
    q.run('UPDATE record_cursor SET seq = max(seq, ?)', rows.at(-1)!.seq)
  }

  /** A damaged record is left out: otherwise no machine would get any later one. So is its earlier content, which may allow what
   *  the record forbids. */
  #apply(q: Queries, row: StoredRecord): void {
    const { kind, id } = row
    try {
      applyRecord(q, row)
    } catch (error) {
      if (asRockpoolError(error).code !== 'damaged' || !isTableKind(kind)) throw error
      removeRecord(q, kind, id)
      this.#parts.log.error(
        { event: 'record-damaged', kind, id, error: String(error) },
        'A record in the shared database is damaged; this machine goes on without it.',
      )
    }
  }

  #notify(copied: Set<RecordKind>): void {
    for (const { kind, listener } of this.#listeners) if (copied.has(kind)) listener()
  }

  /** Empties a copy of another database, or of a later state of this one. */
  async #checkOrigin(): Promise<void> {
    const { postgres, copy } = this.#parts
    const [shared] = await postgres.read<{ id: string; last: number }>(
      'SELECT id, (SELECT last_value FROM record_seq) AS last FROM record_origin',
    )
    await copy.write((q) => {
      const here = q.get<{ origin: string; seq: number }>('SELECT origin, seq FROM record_cursor')
      if (here?.origin === shared!.id && here.seq <= shared!.last) return
      clearRecords(q)
      q.run('DELETE FROM record_cursor')
      q.run('INSERT INTO record_cursor (origin, seq) VALUES (?, 0)', shared!.id)
    })
  }

  async #catchUpOrLog(): Promise<void> {
    await this.catchUp().catch((error: unknown) =>
      this.#parts.log.debug(
        { event: 'records-read-failed', error: String(error) },
        'Could not read the shared records; retrying.',
      ),
    )
  }
}

function cursorOf(q: Queries): number {
  return q.get<{ seq: number }>('SELECT seq FROM record_cursor')?.seq ?? 0
}

/** PostgreSQL's text holds no half surrogate pairs; JSON escapes everything else. */
function textOf(body: unknown): string {
  return JSON.stringify(body).toWellFormed()
}
