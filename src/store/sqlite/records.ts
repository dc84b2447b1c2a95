// Coding sessions, approvals, spend and decisions are records: the stores write them through `Records` and read them from the
// tables of the state database. On one machine a record goes straight into its table (this file). Machines that share a
// database write it to PostgreSQL, and the tables of each machine are a copy (store/postgres/records.ts).
import type { Database } from './database.ts'
import type { Queries } from './queries.ts'
import { dropOutput, getRecord, putRecord, removeRecord } from './record-tables.ts'
import type { NewOutput, RecordBodies, RecordKind, TableKind } from './record-tables.ts'

export interface PutOptions<T> {
  /** The time that decides how long the record is kept; now when absent. */
  at?: number
  /** Throws when the stored record must not be replaced. Checked where other machines may have replaced it. */
  guard?: (stored: T | undefined) => void
  /** The record to write instead, with what other processes have changed in the stored one. */
  merge?: (stored: T | undefined) => T
}

/** Selects the records that are too old: by time, by the session that they belong to, or by their number. */
export type OldRecords = { before: number } | { groups: string[] } | { beyond: number }

export interface Records {
  /** How far the shared clock is ahead of ours. Machines write times by the shared clock. */
  readonly aheadMs: number
  /** When the records became available again after an outage; heartbeats before that could not arrive. */
  readonly backSince: number
  put<K extends RecordKind>(
    kind: K,
    id: string,
    body: RecordBodies[K],
    options?: PutOptions<RecordBodies[K]>,
  ): Promise<void>
  /** Reads, changes and writes one record as one step. Resolves to false when `change` returned undefined. */
  update<K extends TableKind>(
    kind: K,
    id: string,
    change: (body: RecordBodies[K] | undefined) => RecordBodies[K] | undefined,
  ): Promise<boolean>
  /** Resolves to whether there was one. */
  remove(kind: TableKind, id: string): Promise<boolean>
  /** Adds a record that `make` derives from the existing ones. No other record of this kind is created meanwhile. */
  create<K extends RecordKind>(
    kind: K,
    make: (q: Queries) => RecordBodies[K] & { id: string },
  ): Promise<RecordBodies[K]>
  /** Adds output under the next numbers and keeps the newest blocks; resolves to the last number. */
  appendOutput(codingId: string, blocks: NewOutput[], keep: number): Promise<number>
  /** Deletes old records of the shared database; each store deletes in its own tables by the same rule. */
  forget(kind: RecordKind, which: OldRecords): Promise<void>
  /** Calls `listener` when this process has copied such records of other machines. Absent where there are none. */
  onCopied?(kind: RecordKind, listener: () => void): () => void
}

/** A store that writes records and reads them from the tables. */
export class RecordStore {
  protected readonly db: Database
  protected readonly records: Records

  constructor(db: Database, records: Records = localRecords(db)) {
    this.db = db
    this.records = records
  }
}

export function localRecords(db: Database): Records {
  return {
    aheadMs: 0,
    backSince: 0,
    put: <K extends RecordKind>(
      kind: K,
      id: string,
      body: RecordBodies[K],
      { merge }: PutOptions<RecordBodies[K]> = {},
    ) =>
      // Only records of machines have no table, and they are never merged.
      db.write((q) => putRecord(q, kind, id, merge ? merge(getRecord(q, kind as K & TableKind, id)) : body)),
    update: (kind, id, change) =>
      db.write((q) => {
        const changed = change(getRecord(q, kind, id))
        if (changed !== undefined) putRecord(q, kind, id, changed)
        return changed !== undefined
      }),
    remove: (kind, id) => db.write((q) => removeRecord(q, kind, id)),
    create: (kind, make) =>
      db.write((q) => {
        const body = make(q)
        putRecord(q, kind, body.id, body)
        return body
      }),
    appendOutput: (codingId, blocks, keep) =>
      db.write((q) => {
        const sql = 'SELECT coalesce(max(seq), 0) AS seq FROM coding_output WHERE session_id = ?'
        const { seq: last } = q.get<{ seq: number }>(sql, codingId)!
        blocks.forEach((block, i) => putRecord(q, 'output', `${codingId}|${last + i + 1}`, block))
        dropOutput(q, codingId, last + blocks.length - keep)
        return last + blocks.length
      }),
    async forget() {
      // The tables are all there is.
    },
  }
}
