// The outbox with SQLite: a reply is here before it is sent, and its row says at every moment what is known about it.
import type { Clock } from '../../domain/clock.ts'
import type { Delivery } from '../../domain/reply.ts'
import type { Database, Queries, Row } from './database.ts'
import type { DeliveryChange, DeliveryState, Outbox, OutboxRow } from '../work-store.ts'

export function sqliteOutbox(db: Database, clock: Clock): Outbox {
  return {
    add: (deliveries) => db.write((q) => insertDeliveries(q, deliveries, clock.now())),
    leave: (deliveries) => db.write((q) => void insertDeliveries(q, deliveries, clock.now())),
    change: (id, change) => db.write((q) => changeDelivery(q, id, change, clock.now())),
    async take(afterSeq) {
      if (afterSeq === undefined) return openRows(db, 0)
      return openRows(db, afterSeq).filter(({ state }) => state !== 'attempting')
    },
    open: async (afterSeq = 0) => openRows(db, afterSeq),
    list: async (filter = {}) => db.read((q) => listRows(q, filter)),
    get: async (id) => {
      const row = db.read((q) => q.get('SELECT * FROM outbox WHERE id = ?', id))
      return row && asOutboxRow(row)
    },
    forget: (before) =>
      db.write(
        (q) => q.run(`DELETE FROM outbox WHERE state IN ('sent', 'dead') AND updated_at < ?`, before).changes,
      ),
  }
}

function openRows(db: Database, afterSeq: number): OutboxRow[] {
  const rows = db.read((q) =>
    q.all(
      `SELECT * FROM outbox WHERE state IN ('queued', 'attempting', 'retry', 'unknown') AND seq > ? ORDER BY seq`,
      afterSeq,
    ),
  )
  return rows.map(asOutboxRow)
}

/** For the transactions that produce replies: they are queued in the same step as what they answer is ended. */
export function insertDeliveries(
  q: Queries,
  deliveries: Delivery[],
  now: number,
  sendsFirst = false,
): OutboxRow[] {
  return deliveries.flatMap((delivery, index) => insertOne(q, delivery, now, sendsFirst && index === 0))
}

function insertOne(q: Queries, delivery: Delivery, now: number, isMarked: boolean): OutboxRow[] {
  const state = isMarked ? 'attempting' : 'queued'
  const attempts = isMarked ? 1 : 0
  const { changes, lastInsertRowid } = q.run(
    `INSERT INTO outbox (id, idempotency_key, lane, state, attempts, updated_at, record) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (idempotency_key) DO NOTHING`,
    delivery.id,
    delivery.idempotencyKey,
    delivery.lane,
    state,
    attempts,
    now,
    JSON.stringify(delivery),
  )
  if (changes === 0) return []
  const about = { resent: false, notBefore: 0, messageIds: [], updatedAt: now }
  return [{ seq: lastInsertRowid, delivery, state, attempts, ...about, ...(isMarked ? { isMarked } : {}) }]
}

function changeDelivery(q: Queries, id: string, change: DeliveryChange, now: number): void {
  const set = (sql: string, ...values: Array<string | number>): void => {
    q.run(
      `UPDATE outbox SET updated_at = ?, state = ?, ${sql} WHERE id = ?`,
      now,
      change.state,
      ...values,
      id,
    )
  }
  if ('messageIds' in change) set('message_ids = ?', JSON.stringify(change.messageIds))
  else if (change.state === 'attempting')
    set('attempts = attempts + 1, resent = max(resent, ?)', change.resent ? 1 : 0)
  else if (change.state === 'retry') set('not_before = ?, reason = ?', change.notBefore, change.reason)
  else set('reason = ?', change.reason)
}

function listRows(q: Queries, filter: NonNullable<Parameters<Outbox['list']>[0]>): OutboxRow[] {
  const states = filter.states ?? ['queued', 'attempting', 'retry', 'unknown', 'sent', 'dead']
  const rows = q.all(
    `SELECT * FROM outbox WHERE state IN (SELECT value FROM json_each(?)) AND (? IS NULL OR lane = ?)
     ORDER BY seq DESC LIMIT ?`,
    JSON.stringify(states),
    filter.lane ?? null,
    filter.lane ?? null,
    filter.limit ?? 100,
  )
  return rows.map(asOutboxRow)
}

function asOutboxRow(row: Row): OutboxRow {
  return {
    seq: Number(row['seq']),
    delivery: JSON.parse(String(row['record'])) as Delivery,
    state: String(row['state']) as DeliveryState,
    attempts: Number(row['attempts']),
    resent: row['resent'] === 1,
    notBefore: Number(row['not_before']),
    ...(typeof row['reason'] === 'string' ? { reason: row['reason'] } : {}),
    messageIds: JSON.parse(String(row['message_ids'])) as string[],
    updatedAt: Number(row['updated_at']),
  }
}
