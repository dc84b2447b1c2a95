// Turns in PostgreSQL: which one runs in a lane, and what became of those before it. A unique index sees to it that no
// two machines run turns of one session; what a buried member still writes is refused.
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { OutboxRow, RunningTurn, TurnLanes, TurnOutcome, TurnRow } from '../work-store.ts'
import type { Postgres, Statements } from './connection.ts'
import { asInput, inputColumns } from './inbox.ts'
import type { InputRow } from './inbox.ts'
import { addDeliveries } from './outbox.ts'

export interface RunningRow {
  id: string
  lane: string
  agent: string
  kind: RunningTurn['kind']
  owner: string
  started_at: number
}

export const runningColumns = 'turn.id, turn.lane, turn.agent, turn.kind, turn.owner, turn.started_at'

export function postgresLanes(postgres: Postgres, clock: Clock): TurnLanes {
  return {
    async begin(turn) {
      const { id, lane, agentId, kind, owner, inputs } = turn
      const [row] = await postgres.repeat<{ begun: boolean }>(
        'SELECT begin_turn($1, $2, $3, $4, $5, $6, $7, $8) AS begun',
        [postgres.member, id, lane, agentId, kind, postgres.member ?? owner, inputs, clock.now()],
      )
      return row!.begun
    },
    async join(turnId, inputs) {
      const [row] = await postgres.repeat<{ joined: boolean }>('SELECT join_turn($1, $2, $3) AS joined', [
        postgres.member,
        turnId,
        inputs,
      ])
      return row!.joined
    },
    async asked(turnId) {
      await postgres.write(
        `UPDATE inbox SET asked = asked + 1 WHERE turn_id = $1 AND state = 'running' RETURNING id`,
        [turnId],
      )
    },
    finish: (turnId, outcome) => finishTurn(postgres, turnId, outcome, clock.now()),
    async release(turnId) {
      await postgres.repeat('SELECT release_turn($1, $2)', [turnId, clock.now()])
    },
    async running() {
      const turns = await postgres.read<RunningRow>(
        `SELECT ${runningColumns} FROM turn WHERE state = 'running' ORDER BY started_at`,
      )
      return withInputs(postgres, turns)
    },
    async history(filter = {}) {
      const rows = await postgres.read<HistoryRow>(
        `SELECT * FROM turn WHERE state = 'done' AND ($1::text IS NULL OR lane = $1) AND ($2::text IS NULL OR agent = $2)
           AND started_at >= $3 ORDER BY started_at DESC LIMIT $4`,
        [filter.lane ?? null, filter.agentId ?? null, filter.since ?? 0, filter.limit ?? 1_000],
      )
      return rows.map(asTurnRow)
    },
  }
}

export async function withInputs(postgres: Postgres, turns: RunningRow[]): Promise<RunningTurn[]> {
  if (turns.length === 0) return []
  const rows = await postgres.read<InputRow & { turn_id: string; asked: number }>(
    `SELECT ${inputColumns}, turn_id, asked FROM inbox WHERE turn_id = ANY ($1) AND state = 'running' ORDER BY id`,
    [turns.map((turn) => turn.id)],
  )
  return turns.map(({ id, lane, agent, kind, owner, started_at: startedAt }) => ({
    id,
    lane,
    agentId: agent,
    kind,
    owner,
    startedAt,
    inputs: rows.filter((row) => row.turn_id === id).map((row) => ({ ...asInput(row), asked: row.asked })),
  }))
}

/** Repeated while the server is away: the answer is there, and only this puts it where it cannot be lost. */
async function finishTurn(
  postgres: Postgres,
  turnId: string,
  outcome: TurnOutcome,
  now: number,
): Promise<OutboxRow[]> {
  return postgres.untilBack(() =>
    postgres.transaction((statements) => finishOnce(statements, postgres.member, turnId, outcome, now)),
  )
}

async function finishOnce(
  statements: Statements,
  member: string | null,
  turnId: string,
  outcome: TurnOutcome,
  now: number,
): Promise<OutboxRow[]> {
  const { heard, deliveries, sendsFirst } = outcome
  const [row] = await statements.rows<{ done: 'done' | 'again' | 'lost' }>(
    'SELECT finish_turn($1, $2, $3, $4, $5, $6, $7, $8) AS done',
    [
      member,
      turnId,
      now,
      JSON.stringify(recordOf(outcome)),
      outcome.unanswered ?? [],
      heard?.systemEvents ?? [],
      heard?.overheard?.group ?? null,
      heard?.overheard?.upTo ?? null,
    ],
  )
  if (row!.done === 'lost') throw isOver(turnId)
  // Done before, and only the answer was lost: then its rows are there, and are found.
  return addDeliveries(statements, member, deliveries, now, sendsFirst)
}

function recordOf(outcome: TurnOutcome): Record<string, unknown> {
  const { end, usage, sessionId, model, costUsd, contextTokens, compactions } = outcome
  return {
    end: end.kind === 'failed' ? end.why : end.kind,
    ...usage,
    sessionId,
    model,
    costUsd,
    contextTokens,
    compactions,
  }
}

function isOver(turnId: string): RockpoolError {
  return new RockpoolError('lock-lost', `The turn ${turnId} was given to another process meanwhile.`, {
    hint: 'Its answer is dropped here; the other one answers.',
  })
}

interface HistoryRow extends RunningRow {
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

function asTurnRow(row: HistoryRow): TurnRow {
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
