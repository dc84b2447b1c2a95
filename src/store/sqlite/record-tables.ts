// How each kind of record (records.ts) is stored in the tables of the state database.
import type { Approval, CodingSession, Grant } from '../../domain/coding-session.ts'
import type { Repository } from '../../domain/machine.ts'
import type { Decision } from '../../domain/selection.ts'
import { asRequest, asSession, getWatch, putBlock, putRequest, putSession, putWatch } from './coding-rows.ts'
import type { NewOutput, OwnerRequest, RecordRow, RequestRow, Watch } from './coding-rows.ts'
import { replaceRow } from './database.ts'
import type { Queries } from './database.ts'
import { asDecision, asSpend, putApproval, putDecision, putGrant, putSpend } from './record-rows.ts'
import type { DecisionRow, Spend, SpendRow } from './record-rows.ts'

export interface RecordBodies {
  coding: CodingSession
  /** One block of output. Its id is `<coding id>|<number>`. */
  output: NewOutput
  /** Its id is `<coding id>|<channel>`. */
  watch: Watch
  request: OwnerRequest & { answer?: unknown }
  owner: { owner: string; at: number }
  approval: Approval
  grant: Grant
  spend: Spend
  decision: Decision
  machine: MachineBody
}

export type RecordKind = keyof RecordBodies

/** What a machine publishes about itself. */
export interface MachineBody {
  labels: string[]
  repositories: Repository[]
}

interface RecordTable<T> {
  put: (q: Queries, body: T, id: string) => void
  /** Only for kinds that are updated. */
  get?: (q: Queries, id: string) => T | undefined
  /** Only for kinds that are removed. Returns whether there was one. */
  remove?: (q: Queries, id: string) => boolean
}

export function putRecord<K extends RecordKind>(
  q: Queries,
  kind: K,
  id: string,
  body: RecordBodies[K],
): void {
  tableOf(kind)!.put(q, body, id)
}

export function getRecord<K extends RecordKind>(
  q: Queries,
  kind: K,
  id: string,
): RecordBodies[K] | undefined {
  return tableOf(kind)!.get?.(q, id)
}

export function removeRecord(q: Queries, kind: RecordKind, id: string): boolean {
  return tableOf(kind)!.remove?.(q, id) ?? false
}

export interface StoredRecord {
  kind: RecordKind
  id: string
  seq: number
  body: string | null
}

/** Writes a record of the shared database into its table. Kinds that only a later version knows are skipped. */
export function applyRecord(q: Queries, { kind, id, body }: StoredRecord): void {
  const table = tableOf(kind)
  if (body === null) table?.remove?.(q, id)
  else table?.put(q, JSON.parse(body), id)
}

export function clearRecords(q: Queries): void {
  for (const table of [
    'coding_session',
    'coding_output',
    'coding_watch',
    'coding_request',
    'coding_owner',
    'approval',
    'grant_always',
    'spend',
    'decision_session',
    'decision',
  ])
    q.run(`DELETE FROM ${table}`)
}

const tables: { [Kind in RecordKind]: RecordTable<RecordBodies[Kind]> } = {
  coding: {
    put: putSession,
    get: (q, id) => {
      const row = q.get<RecordRow>('SELECT record FROM coding_session WHERE id = ?', id)
      return row && asSession(row)
    },
  },
  output: { put: putBlock },
  watch: { put: putWatch, get: getWatch },
  request: {
    put: putRequest,
    get: (q, id) => {
      const row = q.get<RequestRow>('SELECT * FROM coding_request WHERE id = ?', id)
      return row && asRequest(row)
    },
  },
  owner: {
    put: (q, { owner, at }) => replaceRow(q, 'coding_owner', { owner, seen_at: at }),
    remove: (q, id) => q.run('DELETE FROM coding_owner WHERE owner = ?', id).changes > 0,
  },
  approval: {
    put: putApproval,
    get: (q, id) => {
      const row = q.get<RecordRow>('SELECT record FROM approval WHERE id = ?', id)
      return row && (JSON.parse(row.record) as Approval)
    },
    remove: (q, id) => q.run('DELETE FROM approval WHERE id = ?', id).changes > 0,
  },
  grant: {
    put: putGrant,
    remove: (q, id) => q.run('DELETE FROM grant_always WHERE id = ?', id).changes > 0,
  },
  spend: {
    put: putSpend,
    get: (q, id) => {
      const row = q.get<SpendRow>('SELECT * FROM spend WHERE id = ?', id)
      return row && asSpend(row)
    },
  },
  decision: {
    put: putDecision,
    get: (q, id) => {
      const row = q.get<DecisionRow>('SELECT * FROM decision WHERE id = ?', id)
      return row && asDecision(row)
    },
  },
  // Read from the shared database itself, together with which machines are alive.
  machine: { put: () => {} },
}

function tableOf<K extends RecordKind>(kind: K): RecordTable<RecordBodies[K]> | undefined {
  return Object.hasOwn(tables, kind) ? tables[kind] : undefined
}
