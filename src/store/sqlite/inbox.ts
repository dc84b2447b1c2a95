// The inbox in SQLite: a message is durable here before its platform gets the acknowledgement.
import type { Clock } from '../../domain/clock.ts'
import { inboxReads } from '../tables/work-rows.ts'
import type { Inbox, Input, InputEnd, WaitingInput } from '../work-store.ts'
import type { Database, Queries } from './database.ts'
import { insertDeliveries } from './outbox.ts'
import { sqliteSql } from './sql.ts'

export function sqliteInbox(db: Database, clock: Clock): Inbox {
  const sql = sqliteSql(db)
  return {
    ...inboxReads(sql, 'agent_id'),
    accept: (input) => db.write((q) => insertInput(q, input, clock.now())),
    end: (ids, how, deliveries = []) =>
      db.write((q) => {
        endInputs(q, ids, how)
        return insertDeliveries(q, deliveries, clock.now())
      }),
    forget: (before) =>
      sql.run(`DELETE FROM inbox WHERE accepted_at < ? AND state NOT IN ('waiting', 'running')`, [before]),
  }
}

function insertInput(q: Queries, input: Input, now: number): WaitingInput | undefined {
  const { key, lane, agentId, isWatched: _isWatched, ...record } = input
  const { changes, lastInsertRowid } = q.run(
    `INSERT INTO inbox (key, lane, agent_id, state, accepted_at, record) VALUES (?, ?, ?, 'waiting', ?, ?)
     ON CONFLICT (key) DO NOTHING`,
    key,
    lane,
    agentId,
    now,
    JSON.stringify(record),
  )
  return changes === 0 ? undefined : { ...input, id: lastInsertRowid, acceptedAt: now, lostTurns: 0 }
}

/** Ends inputs, as part of a transaction; their text is no longer needed. */
export function endInputs(q: Queries, ids: number[], how: InputEnd): void {
  for (const id of ids) q.run(`UPDATE inbox SET state = ?, record = '{}' WHERE id = ?`, how, id)
}
