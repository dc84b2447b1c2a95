// The outbox in PostgreSQL. One member at a time sends the deliveries of a lane. When it dies, another member that can send
// through the account takes them.
import type { Address } from '../../domain/address.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Delivery } from '../../domain/reply.ts'
import {
  asOutboxRow,
  deliveryColumns,
  isOpen,
  newOutboxRow,
  outboxReads,
  shownSince,
  takeAlone,
} from '../tables/work-rows.ts'
import type { DeliveryRow } from '../tables/work-rows.ts'
import type { DeliveryChange, Outbox, OutboxRow } from '../work-store.ts'
import type { Postgres, Statements } from './connection.ts'
import { Redelivery } from './redelivery.ts'
import { postgresSql } from './sql.ts'

/** No member is declared dead within 3 seconds after a heartbeat (sql/functions/members.sql). */
const sureForMs = 2_500

/** `clock`: the database's, by which rows are dated. `shownSince` and `change` take and give times by the clock of this machine. */
export function postgresOutbox(postgres: Postgres, clock: Clock): Outbox {
  // Marks open deliveries of this process as not handed out; the sender recognizes those that it has.
  const reset = `UPDATE outbox SET handed = false WHERE owner = $1 AND ${isOpen}`
  const redelivery = new Redelivery(() => postgres.write(reset, [postgres.member]))
  const sql = postgresSql(postgres)
  const reads = outboxReads(sql)
  return {
    ...reads,
    add: (deliveries) =>
      postgres.untilBack(() =>
        postgres.transaction((statements) =>
          addDeliveries(statements, postgres.member, deliveries, clock.now()),
        ),
      ),
    leave: (deliveries) =>
      postgres.untilBack(() =>
        postgres.transaction(async (statements) => {
          await addDeliveries(statements, postgres.member, deliveries, clock.now())
          await statements.rows(`UPDATE outbox SET handed = false WHERE id = ANY ($1) AND state = 'queued'`, [
            deliveries.map(({ id }) => id),
          ])
        }),
      ),
    change: changesOf(postgres, clock),
    checkOwned: (id) => checkOwned(postgres, clock, id),
    async shownSince(since, to) {
      const { aheadMs, member } = postgres
      const isForeign = { sql: 'owner IS DISTINCT FROM CAST(?3 AS TEXT)', values: [member] }
      const rows = await shownSince(sql, { since: since + aheadMs, to, isForeign })
      return rows.map((row) => ({ ...row, updatedAt: row.updatedAt - aheadMs }))
    },
    take: (afterSeq) =>
      redelivery.receive(() =>
        postgres.member === null ? takeAlone(reads, afterSeq) : takeRows(postgres, postgres.member),
      ),
  }
}

/** Adds replies, as part of a transaction. Resolves to those that this process sends, also when an earlier attempt added them
 *  and its reply was lost. */
export async function addDeliveries(
  { rows }: Statements,
  member: string | null,
  deliveries: Delivery[],
  now: number,
): Promise<OutboxRow[]> {
  const added: OutboxRow[] = []
  for (const delivery of deliveries) {
    const { id, key, lane, via, record } = deliveryArguments(delivery)
    const [row] = await rows<{ new_seq: number; mine: boolean; marked: boolean }>(
      'SELECT * FROM add_delivery($1, $2, $3, $4, $5, $6, $7, false)',
      [member, id, key, lane, via, record, now],
    )
    if (!row) added.push(...(await ownRow(rows, member, id)))
    if (row?.mine) added.push(newOutboxRow(row.new_seq, delivery, now, row.marked))
  }
  return added
}

/** A delivery as the functions `add_delivery` and `end_turn` take it. */
export function deliveryArguments(delivery: Delivery) {
  const { id, idempotencyKey: key, lane, address } = delivery
  return { id, key, lane, via: viaOf(address), record: JSON.stringify(delivery) }
}

/** The delivery that an earlier call added, if this process sends it. */
export async function ownRow(
  rows: Statements['rows'],
  member: string | null,
  id: string,
): Promise<OutboxRow[]> {
  const found = await rows<DeliveryRow>(
    `UPDATE outbox SET handed = $2::text IS NOT NULL
     WHERE id = $1 AND owner IS NOT DISTINCT FROM $2 AND state IN ('queued', 'attempting') RETURNING ${deliveryColumns}`,
    [id, member],
  )
  // No process received this row, so it was not sent, even if it is marked as taken.
  return found.map((row) => ({ ...asOutboxRow(row), isMarked: row.state === 'attempting' || undefined }))
}

export function viaOf({ channel, accountId }: Pick<Address, 'channel' | 'accountId'>): string {
  return `${channel}|${accountId}`
}

/** Rows that others assigned to this member, and lanes without an owner. Each row is returned once. */
function takeRows(postgres: Postgres, member: string): Promise<OutboxRow[]> {
  return postgres.transaction(async ({ rows }) => {
    const [any] = await rows(
      `SELECT 1 FROM outbox, member AS me WHERE me.id = $1 AND ${isOpen}
         AND ((owner IS NULL AND via = ANY (me.reach)) OR (owner = $1 AND NOT handed)) LIMIT 1`,
      [member],
    )
    if (!any) return []
    // One member takes at a time, so that one member gets all deliveries of a lane and account.
    await rows('SELECT pg_advisory_xact_lock(hashtext($1), 0)', ['outbox take'])
    // It cannot leave before it has them.
    await rows('SELECT 1 FROM member WHERE id = $1 FOR KEY SHARE', [member])
    const taken = await rows<DeliveryRow>(
      `UPDATE outbox AS o SET owner = $1, handed = true FROM member AS me
       WHERE me.id = $1 AND o.${isOpen} AND ((o.owner = $1 AND NOT o.handed) OR (o.owner IS NULL AND o.via = ANY (me.reach)
         AND NOT EXISTS (SELECT 1 FROM outbox AS other
           WHERE other.lane = o.lane AND other.via = o.via AND other.owner <> $1 AND other.${isOpen})))
       RETURNING ${deliveryColumns.replaceAll(/\w+/g, 'o.$&')}`,
      [member],
    )
    return taken.map(asOutboxRow).sort((a, b) => a.seq - b.seq)
  })
}

type ChangeRow = (delivery: string, change: DeliveryChange) => Promise<void>

/** Nearly every change is that a delivery was sent; those of one moment share a statement. */
function changesOf(postgres: Postgres, clock: Clock): ChangeRow {
  const markSent = postgres.grouped(
    'repeat',
    `UPDATE outbox SET updated_at = call.at, state = 'sent', message_ids = call.ids
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY AS call (id, at, member, ids, place)
     WHERE outbox.id = call.id AND (SELECT fence(call.member)) AND (call.member IS NULL OR owner = call.member)
     RETURNING place`,
  )
  return async (id, change) => {
    const now = clock.now()
    if (change.state !== 'sent') return changeDelivery(postgres, id, change, now)
    const at = change.at === undefined ? now : change.at + postgres.aheadMs
    mustBeOwned(await markSent([id, at, postgres.member, JSON.stringify(change.messageIds)], id))
  }
}

async function changeDelivery(
  postgres: Postgres,
  id: string,
  change: Exclude<DeliveryChange, { state: 'sent' }>,
  now: number,
): Promise<void> {
  const set = (sql: string, ...values: unknown[]): [sql: string, values: unknown[]] => [
    `UPDATE outbox SET updated_at = $2, state = $3, ${sql}
     WHERE id = $1 AND (SELECT fence($4)) AND ($4::text IS NULL OR owner = $4) RETURNING seq`,
    [id, now, change.state, postgres.member, ...values],
  ]
  // The only change that must not be repeated: it counts.
  if (change.state === 'attempting' && 'resent' in change) {
    const [sql, values] = set('attempts = attempts + 1, resent = resent OR $5', change.resent)
    return mustBeOwned(await postgres.write(sql, values))
  }
  const [sql, values] =
    change.state === 'retry'
      ? set('not_before = $5, reason = $6', change.notBefore, change.reason)
      : 'messageIds' in change
        ? set('message_ids = $5', JSON.stringify(change.messageIds))
        : set('reason = $5', change.reason)
  return mustBeOwned(await postgres.repeat(sql, values))
}

/** Asks the database only if this process may have been declared dead, until an answer comes in time. */
async function checkOwned(postgres: Postgres, clock: Clock, id: string): Promise<void> {
  const { member } = postgres
  if (member === null) return
  let sureAt = postgres.seenAliveAt
  while (clock.monotonic() - sureAt > sureForMs) {
    sureAt = clock.monotonic()
    mustBeOwned(
      await postgres.write('SELECT 1 FROM outbox WHERE id = $1 AND owner = $2 AND (SELECT fence($2))', [
        id,
        member,
      ]),
    )
  }
}

/** After it was declared dead and joined again, a process has another id: its former deliveries belong to others. */
function mustBeOwned(found: unknown[]): void {
  if (found.length > 0) return
  throw new RockpoolError('lock-lost', 'Another process has this reply now, or it was removed.', {
    hint: 'Nothing was changed. The process that owns the reply sends it.',
  })
}
