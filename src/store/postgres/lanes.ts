// Turns in PostgreSQL: which turn runs in a lane, and how earlier turns ended. A unique index keeps two machines from running
// turns of one session at the same time; writes of a member that was declared dead are refused.
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { turnReads } from '../tables/work-rows.ts'
import type { OutboxRow, TurnLanes, TurnOutcome } from '../work-store.ts'
import type { Postgres, Statements } from './connection.ts'
import { addDeliveries } from './outbox.ts'
import { postgresSql } from './sql.ts'

export function postgresLanes(postgres: Postgres, clock: Clock): TurnLanes {
  return {
    ...turnReads(postgresSql(postgres), 'agent'),
    async begin(turn) {
      const { id, lane, agentId, kind, owner, inputs } = turn
      const [row] = await postgres.repeat<{ begun: boolean }>(
        'SELECT begin_turn($1, $2, $3, $4, $5, $6, $7, $8) AS begun',
        [postgres.member, id, lane, agentId, kind, postgres.member ?? owner, inputs, clock.now()],
      )
      return row!.begun
    },
    async join(turnId, inputs) {
      const values = [postgres.member, turnId, inputs]
      const sql = 'SELECT join_turn($1, $2, $3) AS joined'
      const [row] = await postgres.repeat<{ joined: boolean }>(sql, values)
      return row!.joined
    },
    async asked(turnId) {
      const sql = `UPDATE inbox SET asked = asked + 1 WHERE turn_id = $1 AND state = 'running' RETURNING id`
      await postgres.write(sql, [turnId])
    },
    finish: (turnId, outcome) => finishTurn(postgres, turnId, outcome, clock.now()),
    async release(turnId) {
      await postgres.repeat('SELECT release_turn($1, $2)', [turnId, clock.now()])
    },
  }
}

/** Repeated while the server is unavailable: until it succeeds, the answer exists in memory only. */
function finishTurn(
  postgres: Postgres,
  turnId: string,
  outcome: TurnOutcome,
  now: number,
): Promise<OutboxRow[]> {
  const { received, deliveries, sendsFirst, unanswered = [] } = outcome
  const { systemEvents = [], overheard } = received ?? {}
  const finish = async (statements: Statements): Promise<OutboxRow[]> => {
    const { member } = postgres
    const [row] = await statements.rows<{ done: 'done' | 'again' | 'lost' }>(
      'SELECT finish_turn($1, $2, $3, $4, $5, $6, $7, $8) AS done',
      [
        member,
        turnId,
        now,
        JSON.stringify(recordOf(outcome)),
        unanswered,
        systemEvents,
        overheard?.group ?? null,
        overheard?.upTo ?? null,
      ],
    )
    if (row!.done === 'lost') throw turnIsLost(turnId)
    // On 'again' an earlier call added the deliveries and its reply was lost; they are found.
    return addDeliveries(statements, member, deliveries, now, sendsFirst)
  }
  return postgres.untilBack(() => postgres.transaction(finish))
}

function recordOf(outcome: TurnOutcome): Record<string, unknown> {
  const { end, usage, sessionId, model, costUsd, contextTokens, compactions } = outcome
  const how = end.kind === 'failed' ? end.why : end.kind
  return { end: how, ...usage, sessionId, model, costUsd, contextTokens, compactions }
}

function turnIsLost(turnId: string): RockpoolError {
  return new RockpoolError('lock-lost', `The turn ${turnId} was given to another process meanwhile.`, {
    hint: 'Its answer is dropped here; the other one answers.',
  })
}
