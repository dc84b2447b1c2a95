// Rows of the inbox, the turns and the outbox, and the reads that are the same in both databases. How work is claimed and
// finished differs; each database has it in its own files.
import { parseStored } from '../../domain/json.ts'
import type { Delivery } from '../../domain/reply.ts'
import type {
  DeliveryState,
  Inbox,
  Input,
  InputState,
  Outbox,
  OutboxRow,
  RunningInput,
  RunningTurn,
  ShownDelivery,
  TurnLanes,
  TurnRow,
  WaitingInput,
} from '../work-store.ts'
import { fromRow, get, placeholders, run, type SqlDatabase, type SqlValue } from './sql-database.ts'

/** The fields of an input that its `record` column holds. */
type InputRecord = Pick<Input, 'message' | 'mayCommand' | 'owner' | 'byOwner' | 'byMember' | 'turnOptions'>

/** The name of the agent's column differs between the databases. */
type AgentColumn = 'agent' | 'agent_id'

const inputColumns = (agent: AgentColumn): string =>
  `id, key, lane, ${agent} AS agent_id, accepted_at, lost_turns, record`

export const knownInput = 'SELECT 1 FROM inbox WHERE key = ?'

export function inboxReads(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
): Pick<Inbox, 'knows' | 'state' | 'lastAcceptedAt' | 'replace' | 'waiting' | 'givenUp'> {
  const waiting = `SELECT ${inputColumns(agentColumn)} FROM inbox WHERE state = 'waiting'`
  return {
    knows: async (key) => (await sql.get(knownInput, [key])) !== undefined,
    async state(key, agentId) {
      const query = `SELECT state FROM inbox WHERE key = ?1 AND (CAST(?2 AS TEXT) IS NULL OR ${agentColumn} = ?2)`
      return (await sql.get<{ state: InputState }>(query, [key, agentId ?? null]))?.state
    },
    async lastAcceptedAt(of) {
      const [condition, values]: [string, SqlValue[]] =
        'lane' in of ? ['lane = ?', [of.lane]] : ['substr(key, 1, ?) = ?', [of.keyStart.length, of.keyStart]]
      const query = `SELECT accepted_at FROM inbox WHERE ${condition} ORDER BY id DESC LIMIT 1`
      return (await sql.get<{ accepted_at: number }>(query, values))?.accepted_at
    },
    replace: (key, message) =>
      sql.transaction(function* () {
        const row = yield* get<{ record: string }>(`${waiting} AND key = ?`, [key])
        if (!row) return false
        const record = { ...recordOf(row), message }
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
    async givenUp(first) {
      const rows = await sql.all<InputRow>(
        `SELECT ${inputColumns(agentColumn)} FROM inbox WHERE state = 'given-up' AND record <> '{}' AND id >= ?1
           AND lane = (SELECT lane FROM inbox WHERE id = ?1) ORDER BY id`,
        [first],
      )
      return rows.map(asInput)
    },
  }
}

/** The columns of an input; `record` holds its other fields. */
export type InputRow = { record: string }

export function asInput<T extends WaitingInput>({ record, ...columns }: InputRow): T {
  return { ...recordOf({ record }), ...fromRow<T>(columns) }
}

/** In rows of earlier versions the options of the turn are under `wish`. */
function recordOf({ record }: InputRow): InputRecord {
  const { wish, ...rest } = parseStored<InputRecord & { wish?: Input['turnOptions'] }>(record)
  return wish ? { ...rest, turnOptions: wish } : rest
}

export function turnReads(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
): Pick<TurnLanes, 'running' | 'history'> {
  return {
    async running() {
      const columns = `id, lane, ${agentColumn} AS agent_id, kind, owner, started_at`
      const query = `SELECT ${columns} FROM turn WHERE state = 'running' ORDER BY started_at`
      return withInputs(sql, agentColumn, await sql.all(query))
    },
    async history({ lane = null, agentId = null, inputKey = null, since = 0, limit = 1_000 } = {}) {
      const rows = await sql.all<EndedRow>(
        `SELECT id, lane, ${agentColumn} AS agent_id, kind, session_id, model, started_at, ended_at,
           coalesce(end_kind, 'unknown') AS "end", input, output, cache_read, cache_write, cost_usd, context_tokens, compactions
         FROM turn WHERE state = 'done' AND (CAST(?1 AS TEXT) IS NULL OR lane = ?1)
           AND (CAST(?2 AS TEXT) IS NULL OR ${agentColumn} = ?2) AND started_at >= ?3
           AND (CAST(?5 AS TEXT) IS NULL OR id = (SELECT turn_id FROM inbox WHERE key = ?5)) ORDER BY started_at DESC LIMIT ?4`,
        [lane, agentId, since, limit, inputKey],
      )
      return rows.map(asTurn)
    },
  }
}

type EndedRow = Record<'input' | 'output' | 'cache_read' | 'cache_write', number>

function asTurn({
  input,
  output,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  ...row
}: EndedRow): TurnRow {
  return { ...fromRow<TurnRow>(row), usage: { input, output, cacheRead, cacheWrite } }
}

/** `turns`: rows with the columns of a running turn. */
export async function withInputs(
  sql: SqlDatabase,
  agentColumn: AgentColumn,
  turns: Array<{ id: string }>,
): Promise<RunningTurn[]> {
  if (turns.length === 0) return []
  const ids = turns.map(({ id }) => id)
  const rows = await sql.all<InputRow & { turn_id: string }>(
    `SELECT ${inputColumns(agentColumn)}, turn_id, asked FROM inbox
     WHERE turn_id IN (${placeholders(ids)}) AND state = 'running' ORDER BY id`,
    ids,
  )
  const inputsOf = Map.groupBy(rows, (row) => row.turn_id)
  return turns.map((turn) => ({
    ...fromRow<RunningTurn>(turn),
    inputs: (inputsOf.get(turn.id) ?? []).map(({ turn_id: _turnId, ...row }) => asInput<RunningInput>(row)),
  }))
}

export interface DeliveryRow {
  state: DeliveryState
  record: string
  /** 0 or 1 in SQLite. */
  resent: boolean | number
  message_ids: string
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

/** The deliveries of `Outbox.shownSince`. `isForeign`: whether another process sent a row, in SQL. */
export async function shownSince(
  sql: SqlDatabase,
  { since, to, isForeign }: { since: number; to: string; isForeign: { sql: string; values: SqlValue[] } },
): Promise<ShownDelivery[]> {
  const escaped = JSON.stringify(to)
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, String.raw`\$&`)
  const rows = await sql.all<DeliveryRow & { foreign_row: boolean | number }>(
    `SELECT * FROM (
       SELECT ${deliveryColumns}, ${isForeign.sql} AS foreign_row FROM outbox
       WHERE ${isOpen} AND (state IN ('attempting', 'unknown') OR message_ids <> '[]')
       UNION ALL SELECT ${deliveryColumns}, ${isForeign.sql} AS foreign_row FROM outbox
       WHERE state IN ('sent', 'dead') AND updated_at >= ?1
     ) AS shown WHERE record LIKE ?2 ESCAPE '\\' ORDER BY seq`,
    [since, `%${escaped}%`, ...isForeign.values],
  )
  return rows.map(({ foreign_row: foreign, ...row }) => ({
    ...asOutboxRow(row),
    isForeign: Boolean(foreign),
  }))
}

/** `take` of a single process: all open rows at the start, later those that are new and not being sent. */
export async function takeAlone(reads: Pick<Outbox, 'open'>, afterSeq?: number): Promise<OutboxRow[]> {
  const rows = await reads.open(afterSeq)
  return afterSeq === undefined ? rows : rows.filter(({ state }) => state !== 'attempting')
}

const allStates: DeliveryState[] = ['queued', 'attempting', 'retry', 'unknown', 'sent', 'dead']

export function asOutboxRow({ record, resent, message_ids: ids, ...row }: DeliveryRow): OutboxRow {
  return {
    ...fromRow<OutboxRow>(row),
    delivery: parseStored<Delivery>(record),
    resent: Boolean(resent),
    messageIds: parseStored<string[]>(ids),
  }
}

/** A row that was just added. `isMarked`: this process sends it at once. */
export function newOutboxRow(seq: number, delivery: Delivery, now: number, isMarked: boolean): OutboxRow {
  const common = { seq, delivery, resent: false, notBefore: 0, messageIds: [], updatedAt: now }
  return isMarked
    ? { ...common, state: 'attempting', attempts: 1, isMarked }
    : { ...common, state: 'queued', attempts: 0 }
}
