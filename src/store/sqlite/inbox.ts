// The inbox with SQLite: a message is here before its platform is told that we have it.
import type { Clock } from '../../domain/clock.ts'
import type { Message } from '../../domain/message.ts'
import type { Database, Queries, Row } from './database.ts'
import { insertDeliveries } from './outbox.ts'
import type { Inbox, Input, InputEnd, InputState, WaitingInput } from '../work-store.ts'

export function sqliteInbox(db: Database, clock: Clock): Inbox {
  return {
    accept: (input) => db.write((q) => insertInput(q, input, clock.now())),
    knows: async (key) => db.read((q) => q.get('SELECT 1 FROM inbox WHERE key = ?', key) !== undefined),
    state: async (key) =>
      db.read((q) => q.get<{ state: InputState }>('SELECT state FROM inbox WHERE key = ?', key))?.state,
    replace: (key, message) => db.write((q) => replaceMessage(q, key, message)),
    waiting: async (lane) =>
      db
        .read((q) =>
          lane === undefined
            ? q.all(`SELECT * FROM inbox WHERE state = 'waiting' ORDER BY id`)
            : q.all(`SELECT * FROM inbox WHERE state = 'waiting' AND lane = ? ORDER BY id`, lane),
        )
        .map(asInput),
    end: (ids, how, deliveries = []) =>
      db.write((q) => {
        endInputs(q, ids, how)
        return insertDeliveries(q, deliveries, clock.now())
      }),
    forget: (before) =>
      db.write(
        (q) =>
          q.run(`DELETE FROM inbox WHERE accepted_at < ? AND state NOT IN ('waiting', 'running')`, before)
            .changes,
      ),
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

function replaceMessage(q: Queries, key: string, message: Message): boolean {
  const row = q.get(`SELECT * FROM inbox WHERE key = ? AND state = 'waiting'`, key)
  if (!row) return false
  const { mayCommand, owner, byOwner, byMember, wish } = asInput(row)
  q.run(
    'UPDATE inbox SET record = ? WHERE key = ?',
    JSON.stringify({ message, mayCommand, owner, byOwner, byMember, wish }),
    key,
  )
  return true
}

/** For the transactions of inbox and lanes: inputs are over, their text is no longer needed. */
export function endInputs(q: Queries, ids: number[], how: InputEnd): void {
  for (const id of ids) q.run(`UPDATE inbox SET state = ?, record = '{}' WHERE id = ?`, how, id)
}

export function asInput(row: Row): WaitingInput {
  const record = JSON.parse(String(row['record'])) as Pick<
    Input,
    'message' | 'mayCommand' | 'owner' | 'byOwner' | 'byMember' | 'wish'
  >
  return {
    ...record,
    id: Number(row['id']),
    key: String(row['key']),
    lane: String(row['lane']),
    agentId: String(row['agent_id']),
    acceptedAt: Number(row['accepted_at']),
    lostTurns: Number(row['lost_turns']),
  }
}
