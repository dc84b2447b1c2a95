// The inbox in PostgreSQL. The messages of a lane are numbered in the order of their commits, over all machines.
import type { Clock } from '../../domain/clock.ts'
import { inboxReads } from '../tables/work-rows.ts'
import type { Inbox, Input, WaitingInput } from '../work-store.ts'
import type { Postgres } from './connection.ts'
import type { Redelivery } from './redelivery.ts'
import { addDeliveries } from './outbox.ts'
import { postgresSql } from './sql.ts'

export function postgresInbox(postgres: Postgres, clock: Clock, redelivery: Redelivery): Inbox {
  return {
    ...inboxReads(postgresSql(postgres), 'agent'),
    accept: (input, hasRoom = false) =>
      redelivery.receive(() => acceptInput(postgres, input, clock.now(), hasRoom)),
    end: (ids, how, deliveries = []) =>
      postgres.untilBack(() =>
        postgres.transaction(async (statements) => {
          await statements.rows('SELECT end_inputs($1, $2)', [ids, how])
          return addDeliveries(statements, postgres.member, deliveries, clock.now())
        }),
      ),
    async forget(before) {
      const sql = `DELETE FROM inbox WHERE accepted_at < $1 AND state NOT IN ('waiting', 'running') RETURNING id`
      const gone = await postgres.write(sql, [before])
      // A lane without messages is created again when a message arrives.
      await postgres.write(
        `DELETE FROM lane WHERE owner IS NULL AND waiting = 0 AND ready_at < to_timestamp($1 / 1000.0)
           AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.lane = lane.key AND state = 'running')`,
        [before],
      )
      return gone.length
    },
  }
}

/** Marks waiting inputs of this process as not handed out, so that they are delivered again, in order. */
export function resetHandedInputs(postgres: Postgres): Promise<unknown> {
  const sql = `UPDATE inbox SET handed_to = NULL WHERE handed_to = $1 AND state = 'waiting'`
  return postgres.write(sql, [postgres.member])
}

async function acceptInput(
  postgres: Postgres,
  input: Input,
  now: number,
  hasRoom: boolean,
): Promise<WaitingInput | undefined> {
  const { member } = postgres
  const { key, lane, agentId, isWatched = false, ...record } = input
  const [row] = await postgres.write<{ new_id: number; holder: string | null; moved: boolean }>(
    'SELECT * FROM accept_input($1, $2, $3, $4, $5, $6, $7, $8)',
    [
      member,
      hasRoom || isWatched,
      key,
      lane,
      agentId,
      now,
      isWatched ? member : null,
      JSON.stringify(record),
    ],
  )
  if (!row) return undefined
  const accepted = { ...input, id: row.new_id, acceptedAt: now, lostTurns: 0 }
  if (member === null) return accepted
  const laneServer = row.holder === null ? 'nowhere' : row.holder === member ? 'here' : 'elsewhere'
  return { ...accepted, laneServer, hasMoved: row.moved }
}
