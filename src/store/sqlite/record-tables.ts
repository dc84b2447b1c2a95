// The records of the state database (records.ts): coding sessions, approvals, spend, decisions, usage windows, schedules. This
// file says how each kind is written to its table and read back.
import { RockpoolError } from '../../domain/errors.ts'
import { parseStored } from '../../domain/json.ts'
import type { SQLInputValue } from 'node:sqlite'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Approval, CodingSession, Grant, OutputKind } from '../../domain/coding-session.ts'
import type { Repository } from '../../domain/machine.ts'
import type { Decision, SessionSelection } from '../../domain/selection.ts'
import type { Schedule, ScheduleRun } from '../../domain/schedule.ts'
import type { UsageWindow } from '../../domain/usage-window.ts'
import { columnsOf, fromRow } from '../tables/sql-database.ts'
import { insertRow, type Queries, type Row } from './queries.ts'

/** One block of output of a coding session. */
export type NewOutput = { at: number; kind: OutputKind; text: string }

/** How far a chat has seen the output of a session, and whether it still follows it. */
export interface Watch {
  codingId: string
  channel: string
  seenSeq: number
  foreground: boolean
}

/** A request of another process to the owner of a coding session, or to a machine (`machine:<name>`). */
export interface OwnerRequest {
  id: string
  codingId: string
  action: string
  input: Record<string, unknown>
  askedAt: number
}

export interface Spend {
  /** The message's id, so that a call is counted once. */
  id: string
  at: number
  /** The day in the configured time zone, YYYY-MM-DD. */
  day: string
  codingId?: string
  sessionKey?: string
  repo?: string
  agentId: string
  model: string
  usd: number
  subagent: boolean
}

/** The facts that a machine publishes about itself. */
export interface MachineBody {
  labels: string[]
  repositories: Repository[]
}

export interface RecordBodies {
  coding: CodingSession
  /** Its id is `<coding id>|<number>`. */
  output: NewOutput
  /** Its id is `<coding id>|<channel>`. */
  watch: Watch
  request: OwnerRequest & { answer?: unknown }
  owner: { owner: string; at: number }
  approval: Approval
  grant: Grant
  spend: Spend
  decision: Decision
  usage: UsageWindow
  schedule: Schedule
  /** A run of a schedule; its id is `<schedule>|<due time>`. */
  run: ScheduleRun
  /** Without a table: read from the shared database itself, together with which machines are alive. */
  machine: MachineBody
}

export type RecordKind = keyof RecordBodies

/** A record as the shared database has it; its body is null when it was removed. */
export interface StoredRecord {
  kind: RecordKind
  id: string
  seq: number
  body: string | null
}

/** How many blocks of output are kept of each session by default. */
export const keptBlocks = 5_000

/** Older decisions are deleted: they explain a choice and are no record of work. */
export const keptDecisions = 2_000

interface RecordTable<T> {
  table: string
  /** The columns of the record with this id; `id` when absent. */
  key?: (id: string) => Record<string, SQLInputValue>
  columns: (body: T, id: string) => Record<string, SQLInputValue | undefined>
  /** The columns that `read` needs; all when absent. */
  reads?: string
  read: (row: Row) => T
  /** What to update when the record exists; all columns when absent. */
  onConflict?: string
  afterPut?: (q: Queries, body: T, id: string) => void
}

export type TableKind = Exclude<RecordKind, 'machine'>

const tables: { [Kind in TableKind]: RecordTable<RecordBodies[Kind]> } = {
  coding: {
    table: 'coding_session',
    columns: (session) => ({
      ...columnsOf(session, 'id', 'name', 'sdkSessionId', 'status', 'lifecycle', 'createdAt', 'costUsd'),
      ...columnsOf(session.request, 'agentId', 'label'),
      repo: session.request.workdir,
      ended_at: session.end?.at,
      record: JSON.stringify(session),
    }),
    reads: 'record',
    // Rows of earlier versions lack these three fields.
    read: ({ record }) =>
      Object.assign({ inbox: [], given: [], allowances: {} }, parse<CodingSession>(record)),
  },
  output: {
    table: 'coding_output',
    key: outputKey,
    columns: (block, id) => ({ ...outputKey(id), ...columnsOf(block, 'at', 'kind', 'text') }),
    read: ({ at, kind, text }) => ({ at, kind, text }) as NewOutput,
    // Deletes the oldest blocks now and then, as the writer of the block does.
    afterPut: (q, _block, id) => {
      const { session_id: codingId, seq } = outputKey(id)
      if (seq % 100 === 0) dropOutput(q, codingId, seq - keptBlocks)
    },
  },
  watch: {
    table: 'coding_watch',
    key: watchKey,
    columns: ({ seenSeq, foreground }, id) => ({
      ...watchKey(id),
      seen_seq: seenSeq,
      foreground: Number(foreground),
    }),
    read: ({ session_id: codingId, channel, seen_seq: seenSeq, foreground }) =>
      ({ codingId, channel, seenSeq, foreground: foreground === 1 }) as Watch,
    onConflict: 'seen_seq = max(seen_seq, excluded.seen_seq), foreground = excluded.foreground',
  },
  request: {
    table: 'coding_request',
    columns: ({ codingId, input, answer, ...request }) => ({
      ...columnsOf(request, 'id', 'action', 'askedAt'),
      session_id: codingId,
      input: JSON.stringify(input),
      answer: answer === undefined ? null : JSON.stringify(answer),
    }),
    read: ({ session_id: codingId, input, answer, ...row }) => ({
      ...fromRow<OwnerRequest>({ coding_id: codingId, ...row }),
      input: parse(input),
      ...(answer === null ? {} : { answer: parse(answer) }),
    }),
  },
  owner: {
    table: 'coding_owner',
    key: (owner) => ({ owner }),
    columns: ({ owner, at }) => ({ owner, seen_at: at }),
    read: ({ owner, seen_at: at }) => ({ owner, at }) as RecordBodies['owner'],
  },
  approval: {
    table: 'approval',
    columns: (approval) => ({
      ...columnsOf(approval, 'id', 'codingId', 'sessionKey', 'agentId', 'state', 'askedAt', 'inputHash'),
      record: JSON.stringify(approval),
    }),
    reads: 'record',
    read: ({ record }) => parse(record),
  },
  grant: {
    table: 'grant_always',
    columns: (grant) => ({
      ...columnsOf(grant, 'id', 'codingId', 'sessionKey', 'tool', 'pattern', 'grantedAt', 'grantedBy'),
      ...columnsOf(grant, 'kind', 'folder', 'until'),
    }),
    read: fromRow<Grant>,
  },
  spend: {
    table: 'spend',
    columns: (spend) => ({
      ...columnsOf(spend, 'id', 'at', 'day', 'codingId', 'sessionKey', 'repo', 'agentId', 'model', 'usd'),
      subagent: Number(spend.subagent),
    }),
    read: (row) => ({ ...fromRow<Spend>(row), subagent: row['subagent'] === 1 }),
    // A later report of the same call may arrive first.
    onConflict: 'usd = max(usd, excluded.usd)',
  },
  decision: {
    table: 'decision',
    columns: ({ selection, becameSessionId, ...decision }) => ({
      ...columnsOf(decision, 'id', 'at', 'repoPath', 'agentId', 'label', 'task'),
      became: becameSessionId,
      // A decision over thousands of sessions repeats itself a lot.
      selection: deflateRawSync(JSON.stringify(selection)),
    }),
    read: ({ became, selection, ...row }) => ({
      ...fromRow<Decision>({ ...row, became_session_id: became }),
      selection: selectionIn(selection as Uint8Array),
    }),
    onConflict: 'became = excluded.became',
    afterPut: linkDecision,
  },
  usage: {
    table: 'usage_window',
    columns: (window) => ({ id: window.id, record: JSON.stringify(window) }),
    reads: 'record',
    read: ({ record }) => parse(record),
  },
  schedule: {
    table: 'schedule',
    columns: (schedule) => ({
      ...columnsOf(schedule, 'id', 'name', 'agentId'),
      next_at: schedule.paused === undefined ? schedule.nextDue : undefined,
      record: JSON.stringify(schedule),
    }),
    reads: 'record',
    read: ({ record }) => parse(record),
  },
  run: {
    table: 'schedule_run',
    columns: (run) => ({
      ...columnsOf(run, 'id', 'scheduleId', 'dueAt', 'state', 'toldAt', 'costUsd'),
      record: JSON.stringify(run),
    }),
    reads: 'record',
    read: ({ record }) => parse(record),
  },
}

export function putRecord<K extends RecordKind>(
  q: Queries,
  kind: K,
  id: string,
  body: RecordBodies[K],
): void {
  const found = tableOf(kind)
  if (!found) return
  const { table, columns, onConflict, afterPut } = found
  insertRow(q, table, columns(body, id), onConflict && `ON CONFLICT DO UPDATE SET ${onConflict}`)
  afterPut?.(q, body, id)
}

export function getRecord<K extends TableKind>(q: Queries, kind: K, id: string): RecordBodies[K] | undefined {
  const { where, values } = placeOf(kind, id)
  return readRecords(q, kind, where, ...values)[0]
}

/** The records of a kind that this end of a query selects: `WHERE …`, `ORDER BY …`. */
export function readRecords<K extends TableKind>(
  q: Queries,
  kind: K,
  which = '',
  ...values: SQLInputValue[]
): Array<RecordBodies[K]> {
  const { table, reads = '*', read }: RecordTable<RecordBodies[K]> = tables[kind]
  return q.all(`SELECT ${reads} FROM ${table} ${which}`, ...values).map(read)
}

/** One after another, with the rows. */
export function* eachRecord<K extends TableKind>(
  q: Queries,
  kind: K,
  which = '',
): Generator<{ row: Row; body: RecordBodies[K] }> {
  const { table, read }: RecordTable<RecordBodies[K]> = tables[kind]
  for (const row of q.each(`SELECT * FROM ${table} ${which}`)) yield { row, body: read(row) }
}

/** Returns whether there was one. */
export function removeRecord(q: Queries, kind: TableKind, id: string): boolean {
  const { where, values } = placeOf(kind, id)
  return q.run(`DELETE FROM ${tables[kind].table} ${where}`, ...values).changes > 0
}

/** Writes a record of the shared database into its table. Kinds that only a later version knows are skipped. Throws `damaged` if the
 *  record does not fit the table. */
export function applyRecord(q: Queries, { kind, id, body }: StoredRecord): void {
  if (!isTableKind(kind)) return
  if (body === null) removeRecord(q, kind, id)
  else putStored(q, kind, id, body)
}

export function isTableKind(kind: RecordKind): kind is TableKind {
  return Object.hasOwn(tables, kind)
}

function putStored(q: Queries, kind: TableKind, id: string, body: string): void {
  try {
    putRecord(q, kind, id, parse(body))
  } catch (error) {
    // It is no JSON, lacks a part, or has a value that the table does not take. Any other error is about the database.
    const isOfRecord = error instanceof TypeError || /constraint failed/.test(String(error))
    throw isOfRecord
      ? new RockpoolError('damaged', `The record ${kind} ${id} is damaged.`, { cause: error })
      : error
  }
}

export function clearRecords(q: Queries): void {
  for (const { table } of Object.values(tables)) q.run(`DELETE FROM ${table}`)
}

/** Deletes all blocks up to this number. */
export function dropOutput(q: Queries, codingId: string, upTo: number): void {
  q.run('DELETE FROM coding_output WHERE session_id = ? AND seq <= ?', codingId, upTo)
}

export function watchId({ codingId, channel }: Pick<Watch, 'codingId' | 'channel'>): string {
  return `${codingId}|${channel}`
}

function watchKey(id: string): { session_id: string; channel: string } {
  const at = id.indexOf('|')
  return { session_id: id.slice(0, at), channel: id.slice(at + 1) }
}

function outputKey(id: string): { session_id: string; seq: number } {
  const end = id.lastIndexOf('|')
  return { session_id: id.slice(0, end), seq: Number(id.slice(end + 1)) }
}

/** Records which sessions a decision weighed, chose or led to; deletes the oldest decisions. */
function linkDecision(q: Queries, { id, becameSessionId, selection }: Decision): void {
  const weighed = selection.scores.map(({ sessionId }) => sessionId)
  const link = 'INSERT OR IGNORE INTO decision_session (session_id, decision_id) VALUES (?, ?)'
  for (const sessionId of [becameSessionId, selection.sessionId, ...weighed])
    if (sessionId !== undefined) q.run(link, sessionId, id)
  const sql = 'DELETE FROM decision WHERE id IN (SELECT id FROM decision ORDER BY at DESC LIMIT -1 OFFSET ?)'
  q.run(sql, keptDecisions)
}

function placeOf(kind: TableKind, id: string): { where: string; values: SQLInputValue[] } {
  const key = tables[kind].key?.(id) ?? { id }
  const terms = Object.keys(key).map((column) => `${column} = ?`)
  return { where: `WHERE ${terms.join(' AND ')}`, values: Object.values(key) }
}

function tableOf<K extends RecordKind>(kind: K): RecordTable<RecordBodies[K]> | undefined {
  const known: { [Kind in RecordKind]?: RecordTable<RecordBodies[Kind]> } = tables
  return Object.hasOwn(known, kind) ? known[kind] : undefined
}

function parse<T>(text: unknown): T {
  return parseStored<T>(text as string)
}

/** Decisions of earlier versions say `nobody` instead of `none`. */
function selectionIn(packed: Uint8Array): SessionSelection {
  const selection = parseStored<SessionSelection>(inflateRawSync(packed).toString('utf8'))
  const by: string = selection.relevanceBy
  return by === 'nobody' ? { ...selection, relevanceBy: 'none' } : selection
}
