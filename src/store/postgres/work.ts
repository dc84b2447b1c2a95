// Inbox, lanes and outbox in PostgreSQL; with members, several machines share the work.
import type { Clock } from '../../domain/clock.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import { asInput, withInputs } from '../tables/work-rows.ts'
import type { InputRow, RunningRow } from '../tables/work-rows.ts'
import type { LaneShare, WorkStore } from '../work-store.ts'
import type { Postgres } from './connection.ts'
import { Redelivery } from './redelivery.ts'
import { postgresInbox, resetHandedInputs } from './inbox.ts'
import { postgresLanes } from './lanes.ts'
import type { Members } from './members.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresSql } from './sql.ts'

/** A running turn of this process in a lane without work here is lost after this time; before, it may be about to begin. */
const lostAfterMs = 20_000

export function postgresWork(postgres: Postgres, clock: Clock, members?: Members): WorkStore {
  const redelivery = new Redelivery(() => resetHandedInputs(postgres))
  const sql = postgresSql(postgres)
  return {
    inbox: postgresInbox(postgres, clock, redelivery),
    lanes: postgresLanes(postgres, clock),
    outbox: postgresOutbox(postgres, clock),
    overheard: overheardIn(sql),
    systemEvents: systemEventsIn(sql, clock),
    ...(members ? { share: laneShare(postgres, clock, members, redelivery) } : {}),
  }
}

function laneShare(postgres: Postgres, clock: Clock, members: Members, redelivery: Redelivery): LaneShare {
  return {
    serves: members.serves,
    async take(room, { idle, failed }) {
      const rows = await redelivery.receive(() =>
        postgres.write<InputRow & { moved: boolean }>('SELECT * FROM take_lanes($1, $2, $3, $4, $5)', [
          postgres.member,
          members.serves ? room : 1,
          members.serves,
          idle,
          failed,
        ]),
      )
      return rows.map((row) => ({ input: asInput(row), hasMoved: row.moved }))
    },
    async lost(busy) {
      const rows = await postgres.write<RunningRow>('SELECT * FROM lost_turns($1, $2, $3)', [
        postgres.member,
        busy,
        clock.now() - lostAfterMs,
      ])
      return withInputs(postgresSql(postgres), 'agent', rows)
    },
    wakeOthers: () => members.signal({ kind: 'work' }),
    onWork: (listener) =>
      members.on((signal) => {
        if (signal.kind === 'work') listener()
      }),
    onDeclaredDead: (releaseWork) => {
      members.onDeclaredDead = releaseWork
    },
    setReach: (reach) => members.setReach(reach),
  }
}
