// What a shared record becomes in a machine's copy: the same rows that the stores write where nothing is shared.
import type { Approval, CodingSession, Grant } from '../../domain/coding-session.ts'
import type { Repository } from '../../domain/machine.ts'
import type { Decision } from '../../domain/selection.ts'
import { putApproval, putGrant } from '../sqlite/approval-store.ts'
import { dropOutput, putOutput, putOwner, putRequest, putSession, putWatch } from '../sqlite/coding-rows.ts'
import type { NewOutput, OwnerRequest, Watch } from '../sqlite/coding-rows.ts'
import { keptBlocks } from '../sqlite/coding-store.ts'
import type { Queries } from '../sqlite/database.ts'
import { putDecision } from '../sqlite/decisions.ts'
import { putSpend } from '../sqlite/spend-store.ts'
import type { Spend } from '../sqlite/spend-store.ts'

export interface RecordBodies {
  coding: CodingSession
  /** One block; its number is the end of its id. */
  output: NewOutput
  watch: Watch
  request: OwnerRequest & { answer?: unknown }
  /** When a process that owns sessions was last seen. */
  owner: { owner: string; at: number }
  approval: Approval
  grant: Grant
  spend: Spend
  decision: Decision
  /** What a machine says of itself. */
  machine: MachineBody
}

export interface MachineBody {
  labels: string[]
  repositories: Repository[]
}

export type RecordKind = keyof RecordBodies

export interface StoredRecord {
  kind: RecordKind
  id: string
  seq: number
  body: string | null
}

/** A kind that this version does not know is none of its business. */
export function applyRecord(q: Queries, { kind, id, body }: StoredRecord): void {
  if (!Object.hasOwn(appliers, kind)) return
  const { put, drop } = appliers[kind] as Applier<unknown>
  if (body === null) drop?.(q, id)
  else put(q, JSON.parse(body), id)
}

export function forgetCopies(q: Queries): void {
  for (const table of tables) q.run(`DELETE FROM ${table}`)
}

interface Applier<T> {
  put: (q: Queries, body: T, id: string) => void
  /** Only of what can be taken back. */
  drop?: (q: Queries, id: string) => void
}

const appliers: { [Kind in RecordKind]: Applier<RecordBodies[Kind]> } = {
  coding: { put: putSession },
  output: { put: putBlock },
  watch: { put: putWatch },
  request: { put: putRequest },
  owner: { put: putOwner, drop: (q, id) => q.run('DELETE FROM coding_owner WHERE owner = ?', id) },
  approval: { put: putApproval, drop: (q, id) => q.run('DELETE FROM approval WHERE id = ?', id) },
  grant: { put: putGrant, drop: (q, id) => q.run('DELETE FROM grant_always WHERE id = ?', id) },
  spend: { put: putSpend },
  decision: { put: putDecision },
  // Asked of the database itself, together with who lives.
  machine: { put: () => {} },
}

const tables = [
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
]

/** `<coding id>|<number>`. The oldest go when there are too many, as they do where the block was written. */
function putBlock(q: Queries, block: NewOutput, id: string): void {
  const end = id.lastIndexOf('|')
  const [codingId, seq] = [id.slice(0, end), Number(id.slice(end + 1))]
  putOutput(q, codingId, seq, block)
  if (seq % 100 === 0) dropOutput(q, codingId, seq - keptBlocks)
}
