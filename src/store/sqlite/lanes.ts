// Turns in SQLite: which turn runs in a lane, and how earlier turns ended. A unique index keeps two processes from running
// turns of one session at the same time.
import type { Clock } from '../../domain/clock.ts'
import { turnReads } from '../tables/work-rows.ts'
import type { OutboxRow, TurnLanes, TurnOutcome } from '../work-store.ts'
import type { Database, Queries } from './database.ts'
import { endInputs } from './inbox.ts'
import { insertDeliveries } from './outbox.ts'
import { sqliteSql } from './sql.ts'

export function sqliteTurnLanes(db: Database, clock: Clock): TurnLanes {
  return {
    ...turnReads(sqliteSql(db), 'agent_id'),
    begin: (turn) => db.write((q) => beginTurn(q, turn, clock.now())),
    join: (turnId, inputs) => db.write((q) => isRunning(q, turnId) && claimInputs(q, turnId, inputs)),
    asked: (turnId) => db.write((q) => markAsked(q, turnId)),
    finish: (turnId, outcome) => db.write((q) => finishTurn(q, turnId, outcome, clock.now())),
    release: (turnId) => db.write((q) => releaseTurn(q, turnId, clock.now())),
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
  const { end, usage, received: heard } = outcome
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
