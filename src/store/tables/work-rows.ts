// Rows of the inbox, the turns and the outbox, and the reads that are the same in both databases. How work is claimed and
// finished differs; each database has it in its own inbox.ts, lanes.ts and outbox.ts.
import type { Delivery } from '../../domain/reply.ts'
import type {
  DeliveryState,
  Inbox,
  Input,
  InputState,
  Outbox,
  OutboxRow,
  RunningTurn,
  TurnLanes,
  TurnRow,
  WaitingInput,
} from '../work-store.ts'
import { get, placeholders, run } from './sql-database.ts'
import type { SqlDatabase } from './sql-database.ts'

export interface InputRow {
  id: number
  key: string
  lane: string
  agent: string
  accepted_at: number
  lost_turns: number
  record: string
}

/** The fields of an input that its `record` column holds. */
type InputRecord = Pick<Input, 'message' | 'mayCommand' | 'owner' | 'byOwner' | 'byMember' | 'wish'>

/** `agentColumn`: the name of the agent's column differs between the databases. */
export type AgentColumn = 'agent' | 'agent_id'

const inputColumns = (agent: AgentColumn): string =>
  `id, key, lane, ${agent} AS agent, accepted_at, lost_turns, record`

export function inboxReads(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
): Pick<Inbox, 'knows' | 'state' | 'replace' | 'waiting'> {
  const waiting = `SELECT ${inputColumns(agentColumn)} FROM inbox WHERE state = 'waiting'`
  return {
    knows: async (key) => (await sql.get('SELECT 1 FROM inbox WHERE key = ?', [key])) !== undefined,
    state: async (key) =>
      (await sql.get<{ state: InputState }>('SELECT state FROM inbox WHERE key = ?', [key]))?.state,
    replace: (key, message) =>
      sql.transaction(function* () {
        const row = yield* get<InputRow>(`${waiting} AND key = ?`, [key])
        if (!row) return false
        const record = { ...(JSON.parse(row.record) as InputRecord), message }
        const update = `UPDATE inbox SET record = ? WHERE key = ? AND state = 'waiting'`
        return (yield* run(update, [JSON.stringify(record), key])) > 0
      }),
    async waiting(lane) {
      const rows =
        lane === undefined
          ? await sql.all<InputRow>(`${waiting} ORDER BY id`)
          : await sql.all<InputRow>(`${waiting} AND lane = ? ORDER BY id`, [lane])
      return rows.map(asInput)
    },
  }
}

export function asInput(row: InputRow): WaitingInput {
  return {
    ...(JSON.parse(row.record) as InputRecord),
    id: row.id,
    key: row.key,
    lane: row.lane,
    agentId: row.agent,
    acceptedAt: row.accepted_at,
    lostTurns: row.lost_turns,
  }
}

export interface RunningRow {
  id: string
  lane: string
  agent: string
  kind: RunningTurn['kind']
  owner: string
  started_at: number
}

interface EndedRow extends RunningRow {
  ended_at: number
  end_kind: string | null
  session_id: string | null
  model: string | null
  input: number
  output: number
  cache_read: number
  cache_write: number
  cost_usd: number
  context_tokens: number | null
  compactions: number
}

export function turnReads(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
): Pick<TurnLanes, 'running' | 'history'> {
  return {
    async running() {
      const columns = `id, lane, ${agentColumn} AS agent, kind, owner, started_at`
      const query = `SELECT ${columns} FROM turn WHERE state = 'running' ORDER BY started_at`
      return withInputs(sql, agentColumn, await sql.all<RunningRow>(query))
    },
    async history({ lane = null, agentId = null, since = 0, limit = 1_000 } = {}) {
      const rows = await sql.all<EndedRow>(
        `SELECT turn.*, ${agentColumn} AS agent FROM turn WHERE state = 'done' AND (CAST(?1 AS TEXT) IS NULL OR lane = ?1)
           AND (CAST(?2 AS TEXT) IS NULL OR ${agentColumn} = ?2) AND started_at >= ?3 ORDER BY started_at DESC LIMIT ?4`,
        [lane, agentId, since, limit],
      )
      return rows.map(asTurnRow)
    },
  }
}

export async function withInputs(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
  turns: RunningRow[],
): Promise<RunningTurn[]> {
  if (turns.length === 0) return []
  const ids = turns.map(({ id }) => id)
  const rows = await sql.all<InputRow & { turn_id: string; asked: number }>(
    `SELECT ${inputColumns(agentColumn)}, turn_id, asked FROM inbox
     WHERE turn_id IN (${placeholders(ids)}) AND state = 'running' ORDER BY id`,
    ids,
  )
  return turns.map(({ agent, started_at: startedAt, ...turn }) => ({
    ...turn,
    agentId: agent,
    startedAt,
    inputs: rows
      .filter((row) => row.turn_id === turn.id)
      .map((row) => ({ ...asInput(row), asked: row.asked })),
  }))
}

function asTurnRow(row: EndedRow): TurnRow {
  return {
    id: row.id,
    lane: row.lane,
    agentId: row.agent,
    kind: row.kind,
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    ...(row.model === null ? {} : { model: row.model }),
    startedAt: row.started_at,
    endedAt: row.ended_at,
    end: row.end_kind ?? 'unknown',
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    costUsd: row.cost_usd,
    ...(row.context_tokens === null ? {} : { contextTokens: row.context_tokens }),
    compactions: row.compactions,
  }
}

export interface DeliveryRow {
  seq: number
  record: string
  state: DeliveryState
  attempts: number
  /** 0 or 1 in SQLite. */
  resent: boolean | number
  not_before: number
  reason: string | null
  message_ids: string
  updated_at: number
}

export const deliveryColumns =
  'seq, record, state, attempts, resent, not_before, reason, message_ids, updated_at'
export const isOpen = `state IN ('queued', 'attempting', 'retry', 'unknown')`
const deliveries = `SELECT ${deliveryColumns} FROM outbox`

export function outboxReads(sql: SqlDatabase): Pick<Outbox, 'open' | 'list' | 'get' | 'forget'> {
  return {
    async open(afterSeq = 0) {
      const query = `${deliveries} WHERE ${isOpen} AND seq > ? ORDER BY seq`
      return (await sql.all<DeliveryRow>(query, [afterSeq])).map(asOutboxRow)
    },
    async list({ states = allStates, lane = null, limit = 100 } = {}) {
      const rows = await sql.all<DeliveryRow>(
        `${deliveries} WHERE (CAST(?1 AS TEXT) IS NULL OR lane = ?1)
           AND state IN (${states.map((_, n) => `?${n + 3}`).join(', ')}) ORDER BY seq DESC LIMIT ?2`,
        [lane, limit, ...states],
      )
      return rows.map(asOutboxRow)
    },
    async get(id) {
      const row = await sql.get<DeliveryRow>(`${deliveries} WHERE id = ?`, [id])
      return row && asOutboxRow(row)
    },
    forget: (before) =>
      sql.run(`DELETE FROM outbox WHERE state IN ('sent', 'dead') AND updated_at < ?`, [before]),
  }
}

const allStates: DeliveryState[] = ['queued', 'attempting', 'retry', 'unknown', 'sent', 'dead']

export function asOutboxRow(row: DeliveryRow): OutboxRow {
  return {
    seq: row.seq,
    delivery: JSON.parse(row.record) as Delivery,
    state: row.state,
    attempts: row.attempts,
    resent: Boolean(row.resent),
    notBefore: row.not_before,
    ...(row.reason === null ? {} : { reason: row.reason }),
    messageIds: JSON.parse(row.message_ids) as string[],
    updatedAt: row.updated_at,
  }
}

/** A row that was just added. `isMarked`: this process sends it at once. */
export function newOutboxRow(seq: number, delivery: Delivery, now: number, isMarked: boolean): OutboxRow {
  const common = { seq, delivery, resent: false, notBefore: 0, messageIds: [], updatedAt: now }
  return isMarked
    ? { ...common, state: 'attempting', attempts: 1, isMarked }
    : { ...common, state: 'queued', attempts: 0 }
}
