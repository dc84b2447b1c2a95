// The outbox in SQLite: a reply is durable here before it is sent, and its row always holds the state of its delivery.
import type { Clock } from '../../domain/clock.ts'
import type { Delivery } from '../../domain/reply.ts'
import { newOutboxRow, outboxReads } from '../tables/work-rows.ts'
import type { DeliveryChange, Outbox, OutboxRow } from '../work-store.ts'
import type { Database, Queries } from './database.ts'
import { sqliteSql } from './sql.ts'

export function sqliteOutbox(db: Database, clock: Clock): Outbox {
  const reads = outboxReads(sqliteSql(db))
  return {
    ...reads,
    add: (deliveries) => db.write((q) => insertDeliveries(q, deliveries, clock.now())),
    leave: (deliveries) => db.write((q) => void insertDeliveries(q, deliveries, clock.now())),
    change: (id, change) => db.write((q) => changeDelivery(q, id, change, clock.now())),
    async take(afterSeq) {
      const rows = await reads.open(afterSeq)
      return afterSeq === undefined ? rows : rows.filter(({ state }) => state !== 'attempting')
    },
  }
}

/** Queues replies, as part of the transaction that ends the inputs that they answer. */
export function insertDeliveries(
  q: Queries,
  deliveries: Delivery[],
  now: number,
  sendsFirst = false,
): OutboxRow[] {
  return deliveries.flatMap((delivery, index) => insertOne(q, delivery, now, sendsFirst && index === 0))
}

function insertOne(q: Queries, delivery: Delivery, now: number, isMarked: boolean): OutboxRow[] {
  const { changes, lastInsertRowid } = q.run(
    `INSERT INTO outbox (id, idempotency_key, lane, state, attempts, updated_at, record) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (idempotency_key) DO NOTHING`,
    delivery.id,
    delivery.idempotencyKey,
    delivery.lane,
    isMarked ? 'attempting' : 'queued',
    isMarked ? 1 : 0,
    now,
    JSON.stringify(delivery),
  )
  return changes === 0 ? [] : [newOutboxRow(lastInsertRowid, delivery, now, isMarked)]
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
