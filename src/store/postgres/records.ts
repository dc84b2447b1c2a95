// Records of the shared database, and this machine's copy of them. What is written goes to PostgreSQL; what is read
// comes from the copy, at once and without waiting. The copy follows by the records' numbers, and whoever writes waits
// until the copy has what he wrote.
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Database, Queries } from '../sqlite/database.ts'
import { applyRecord, forgetCopies } from './record-kinds.ts'
import type { RecordKind, StoredRecord } from './record-kinds.ts'
import type { Postgres } from './connection.ts'
import type { Members } from './members.ts'

export interface RecordsParts {
  postgres: Postgres
  members?: Pick<Members, 'on'>
  /** The copy. It can be thrown away. */
  copy: Database
  clock: Clock
  log: Log
}

const batchRows = 500
const mostTries = 100
/** Others tell us at once; this is for what they could not tell. */
const lookEveryMs = 500
const measureEveryMs = 60_000

export class SharedRecords {
  #parts: RecordsParts
  #pulling: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #aheadMs = 0
  #measuredAt = -Infinity
  /** Since when the connection stands in which we know that the copy is one of this database. */
  #knownSince: number | undefined
  #stopHearing: (() => void) | undefined
  #cancelLook = (): void => {}
  #isClosed = false

  constructor(parts: RecordsParts) {
    this.#parts = parts
  }

  /** How far the database's clock is ahead of ours, to the second: machines agree on a time through it. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /** When the database came back after an outage, by our clock: heartbeats before that could not arrive. */
  get backSince(): number {
    const { lastError, since } = this.#parts.postgres.health
    return lastError === undefined ? 0 : since
  }

  /** Follows what others write until it is closed. */
  follow(): void {
    if (this.#stopHearing || this.#isClosed) return
    const hear = (kind: string): void => {
      if (kind === 'records') void this.#catchUpOrLater()
    }
    this.#stopHearing = this.#parts.members?.on(({ kind }) => hear(kind)) ?? (() => {})
    this.#lookLater()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopHearing?.()
    this.#cancelLook()
    await this.#pulling.catch(() => {
      // The caller got the error.
    })
  }

  async put(kind: RecordKind, id: string, body: unknown, at = this.#parts.clock.now()): Promise<void> {
    await this.#parts.postgres.repeat('SELECT put_record($1, $2, NULL, $3, $4)', [
      kind,
      id,
      at,
      body === undefined ? null : textOf(body),
    ])
    await this.catchUp()
  }

  /** Reads, changes and writes one record as one step; a change to `undefined` leaves it as it is. False: it was left. */
  async update<T>(
    kind: RecordKind,
    id: string,
    change: (body: T | undefined) => T | undefined,
  ): Promise<boolean> {
    const { postgres, clock } = this.#parts
    for (let attempt = 1; attempt <= mostTries; attempt++) {
      const [row] = await postgres.read<{ seq: number; body: string | null }>(
        'SELECT seq, body FROM record WHERE kind = $1 AND id = $2',
        [kind, id],
      )
      const before = row?.body == null ? undefined : (JSON.parse(row.body) as T)
      const after = change(before)
      if (after === undefined) return false
      const [put] = await postgres.write<{ seq: number | null }>(
        'SELECT put_record($1, $2, $3, $4, $5) AS seq',
        [kind, id, row?.seq ?? 0, clock.now(), textOf(after)],
      )
      if (put?.seq != null) {
        await this.catchUp()
        return true
      }
    }
    throw new RockpoolError('busy', `${kind} ${id} is being changed by others all the time.`, {
      hint: 'Try again in a moment.',
    })
  }

  /** The same for a change that may be made twice without harm: it waits for a server that is away. */
  updatePatiently<T>(
    kind: RecordKind,
    id: string,
    change: (body: T | undefined) => T | undefined,
  ): Promise<boolean> {
    return this.#parts.postgres.untilBack(() => this.update(kind, id, change))
  }

  /** Adds blocks to a group under the next numbers; resolves to the last one. */
  async append(kind: RecordKind, group: string, bodies: unknown[], keep: number): Promise<number> {
    const [row] = await this.#parts.postgres.write<{ last: number }>(
      'SELECT append_records($1, $2, $3, $4, $5) AS last',
      [kind, group, bodies.map(textOf), this.#parts.clock.now(), keep],
    )
    await this.catchUp()
    return row!.last
  }

  /** One at a time over all machines, with everything known that the others did before. */
  alone<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#parts.postgres.transaction(
      async ({ rows }) => {
        await rows('SELECT pg_advisory_xact_lock(hashtext($1), hashtext(current_schema()))', [name])
        await this.catchUp()
        return work()
      },
      { once: true },
    )
  }

  /** Forgets for good; each copy forgets by the same rule. */
  async forget(
    kind: RecordKind,
    which: { before: number } | { groups: string[] } | { beyond: number },
  ): Promise<number> {
    const { postgres } = this.#parts
    const [where, value] =
      'before' in which
        ? ['at < $2', which.before]
        : 'groups' in which
          ? ["split_part(id, '|', 1) = ANY ($2)", which.groups]
          : ['at < (SELECT at FROM record WHERE kind = $1 ORDER BY at DESC OFFSET $2 LIMIT 1)', which.beyond]
    const gone = await postgres.repeat(`DELETE FROM record WHERE kind = $1 AND ${where} RETURNING seq`, [
      kind,
      value,
    ])
    return gone.length
  }

  /** The same for readers: during an outage they get the last known state without waiting. */
  async refresh(): Promise<void> {
    if (this.#parts.postgres.health.state !== 'lost') await this.#catchUpOrLater()
  }

  /** Resolves when the copy has everything that was committed before the call. */
  catchUp(): Promise<void> {
    this.#next ??= this.#pulling
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        this.#pulling = this.#pull()
        return this.#pulling
      })
    return this.#next
  }

  async #pull(): Promise<void> {
    const { postgres, copy } = this.#parts
    // After a failover it may be another server, which knows less.
    const { since } = postgres.health
    if (this.#knownSince !== since) await this.#checkOrigin()
    this.#knownSince = postgres.health.since
    if (this.#parts.clock.monotonic() - this.#measuredAt > measureEveryMs) await this.#compareClocks()
    for (;;) {
      const rows = await postgres.read<StoredRecord>(
        `SELECT kind, id, seq, body FROM record WHERE seq > $1 ORDER BY seq LIMIT ${batchRows}`,
        [cursorOf(copy.queries)],
      )
      if (rows.length > 0) await copy.write((q) => takeOver(q, rows))
      if (rows.length < batchRows) return
    }
  }

  async #compareClocks(): Promise<void> {
    const { postgres, clock } = this.#parts
    const asked = clock.now()
    const [row] = await postgres.read<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
    )
    this.#aheadMs = Math.round((row!.now - (asked + clock.now()) / 2) / 1_000) * 1_000
    this.#measuredAt = clock.monotonic()
  }

  /** A copy of something else is worth nothing. */
  async #checkOrigin(): Promise<void> {
    const { postgres, copy } = this.#parts
    const [there] = await postgres.read<{ id: string; last: number }>(
      'SELECT id, (SELECT last_value FROM record_seq) AS last FROM record_origin',
    )
    await copy.write((q) => {
      const here = q.get<{ origin: string; seq: number }>('SELECT origin, seq FROM record_cursor')
      if (here?.origin === there!.id && here.seq <= there!.last) return
      forgetCopies(q)
      q.run('DELETE FROM record_cursor')
      q.run('INSERT INTO record_cursor (origin, seq) VALUES (?, 0)', there!.id)
    })
  }

  #lookLater(): void {
    this.#cancelLook = this.#parts.clock.after(lookEveryMs, () => {
      void this.#catchUpOrLater().then(() => {
        if (!this.#isClosed) this.#lookLater()
      })
    })
  }

  async #catchUpOrLater(): Promise<void> {
    await this.catchUp().catch((error: unknown) =>
      this.#parts.log.debug(
        { event: 'records-read-failed', error: String(error) },
        'Could not read the shared records; retrying.',
      ),
    )
  }
}

/** Another process of this machine may have been faster: nothing goes back. */
function takeOver(q: Queries, rows: StoredRecord[]): void {
  const cursor = cursorOf(q)
  for (const row of rows) if (row.seq > cursor) applyRecord(q, row)
  q.run('UPDATE record_cursor SET seq = max(seq, ?)', rows.at(-1)!.seq)
}

function cursorOf(q: Queries): number {
  return q.get<{ seq: number }>('SELECT seq FROM record_cursor')?.seq ?? 0
}

/** PostgreSQL's text holds no half characters; JSON's escapes keep everything else. */
function textOf(body: unknown): string {
  return JSON.stringify(body).toWellFormed()
}
