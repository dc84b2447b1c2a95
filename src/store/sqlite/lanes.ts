// Turns with SQLite: which one runs in a lane, and what became of those before it. A unique index sees to it that no
// two processes run turns of one session.
import type { Clock } from '../../domain/clock.ts'
import type { Database, Queries, Row } from './database.ts'
import { asInput, endInputs } from './inbox.ts'
import { insertDeliveries } from './outbox.ts'
import type { OutboxRow, RunningTurn, TurnLanes, TurnOutcome, TurnRow } from '../work-store.ts'

export function sqliteTurnLanes(db: Database, clock: Clock): TurnLanes {
  return {
    begin: (turn) => db.write((q) => beginTurn(q, turn, clock.now())),
    join: (turnId, inputs) => db.write((q) => isRunning(q, turnId) && claimInputs(q, turnId, inputs)),
    asked: (turnId) => db.write((q) => markAsked(q, turnId)),
    finish: (turnId, outcome) => db.write((q) => finishTurn(q, turnId, outcome, clock.now())),
    release: (turnId) => db.write((q) => releaseTurn(q, turnId, clock.now())),
    running: async () =>
      db.read((q) =>
        q
          .all(`SELECT * FROM turn WHERE state = 'running' ORDER BY started_at`)
          .map((row) => asRunning(q, row)),
      ),
    history: async (filter = {}) => db.read((q) => listTurns(q, filter)),
  }
}

function beginTurn(q: Queries, turn: Parameters<TurnLanes['begin']>[0], now: number): boolean {
  const { changes } = q.run(
    `INSERT INTO turn (id, lane, agent_id, kind, state, owner, started_at) VALUES (?, ?, ?, ?, 'running', ?, ?)
     ON CONFLICT DO NOTHING`,
    turn.id,
    turn.lane,
    turn.agentId,
    turn.kind,
    turn.owner,
    now,
  )
  if (changes === 0) return false
  if (claimInputs(q, turn.id, turn.inputs)) return true
  q.run('DELETE FROM turn WHERE id = ?', turn.id)
  return false
}

/** All of them or none. */
function claimInputs(q: Queries, turnId: string, inputs: number[]): boolean {
  const claimed = inputs.filter(
    (id) =>
      q.run(`UPDATE inbox SET state = 'running', turn_id = ? WHERE id = ? AND state = 'waiting'`, turnId, id)
        .changes === 1,
  )
  if (claimed.length === inputs.length) return true
  for (const id of claimed) q.run(`UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ?`, id)
  return false
}

function markAsked(q: Queries, turnId: string): void {
  q.run(`UPDATE inbox SET asked = asked + 1 WHERE turn_id = ? AND state = 'running'`, turnId)
}

const inputEnds = { completed: 'answered', interrupted: 'stopped', failed: 'failed' } as const

function finishTurn(q: Queries, turnId: string, outcome: TurnOutcome, now: number): OutboxRow[] {
  const { end, usage, heard } = outcome
  q.run(
    `UPDATE turn SET state = 'done', ended_at = ?, end_kind = ?, session_id = ?, model = ?, input = ?, output = ?,
       cache_read = ?, cache_write = ?, cost_usd = ?, context_tokens = ?, compactions = ? WHERE id = ?`,
    now,
    end.kind === 'failed' ? end.why : end.kind,
    outcome.sessionId ?? null,
    outcome.model ?? null,
    usage?.input ?? 0,
    usage?.output ?? 0,
    usage?.cacheRead ?? 0,
    usage?.cacheWrite ?? 0,
    outcome.costUsd ?? 0,
    outcome.contextTokens ?? null,
    outcome.compactions ?? 0,
    turnId,
  )
  for (const id of outcome.unanswered ?? []) {
    q.run(`UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ? AND state = 'running'`, id)
  }
  endInputs(q, inputsOf(q, turnId), inputEnds[end.kind])
  for (const id of heard?.systemEvents ?? []) q.run('DELETE FROM system_event WHERE id = ?', id)
  if (heard?.overheard) {
    const { group, upTo } = heard.overheard
    q.run('DELETE FROM overheard WHERE group_key = ? AND id <= ?', group, upTo)
  }
  return insertDeliveries(q, outcome.deliveries, now, outcome.sendsFirst)
}

function releaseTurn(q: Queries, turnId: string, now: number): void {
  q.run(
    `UPDATE turn SET state = 'done', ended_at = ?, end_kind = 'lost' WHERE id = ? AND state = 'running'`,
    now,
    turnId,
  )
  q.run(
    `UPDATE inbox SET state = 'waiting', turn_id = NULL, lost_turns = lost_turns + 1
     WHERE turn_id = ? AND state = 'running'`,
    turnId,
  )
}

function isRunning(q: Queries, turnId: string): boolean {
  return q.get(`SELECT 1 FROM turn WHERE id = ? AND state = 'running'`, turnId) !== undefined
}

function inputsOf(q: Queries, turnId: string): number[] {
  return q
    .all<{ id: number }>(`SELECT id FROM inbox WHERE turn_id = ? AND state = 'running' ORDER BY id`, turnId)
    .map((row) => row.id)
}

function asRunning(q: Queries, row: Row): RunningTurn {
  const id = String(row['id'])
  return {
    id,
    lane: String(row['lane']),
    agentId: String(row['agent_id']),
    kind: String(row['kind']) as RunningTurn['kind'],
    owner: String(row['owner']),
    startedAt: Number(row['started_at']),
    inputs: q
      .all(`SELECT * FROM inbox WHERE turn_id = ? AND state = 'running' ORDER BY id`, id)
      .map((input) => ({ ...asInput(input), asked: Number(input['asked']) })),
  }
}

function listTurns(q: Queries, filter: NonNullable<Parameters<TurnLanes['history']>[0]>): TurnRow[] {
  const rows = q.all(
    `SELECT * FROM turn WHERE state = 'done' AND (? IS NULL OR lane = ?) AND (? IS NULL OR agent_id = ?)
       AND started_at >= ? ORDER BY started_at DESC LIMIT ?`,
    filter.lane ?? null,
    filter.lane ?? null,
    filter.agentId ?? null,
    filter.agentId ?? null,
    filter.since ?? 0,
    filter.limit ?? 1_000,
  )
  return rows.map(asTurnRow)
}

function asTurnRow(row: Row): TurnRow {
  const text = (name: string): string | undefined => (typeof row[name] === 'string' ? row[name] : undefined)
  const sessionId = text('session_id')
  const model = text('model')
  return {
    id: String(row['id']),
    lane: String(row['lane']),
    agentId: String(row['agent_id']),
    kind: String(row['kind']) as TurnRow['kind'],
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(model === undefined ? {} : { model }),
    startedAt: Number(row['started_at']),
    endedAt: Number(row['ended_at']),
    end: text('end_kind') ?? 'unknown',
    usage: {
      input: Number(row['input']),
      output: Number(row['output']),
      cacheRead: Number(row['cache_read']),
      cacheWrite: Number(row['cache_write']),
    },
    costUsd: Number(row['cost_usd']),
    ...(row['context_tokens'] === null ? {} : { contextTokens: Number(row['context_tokens']) }),
    compactions: Number(row['compactions']),
  }
}
