// Inbox, lanes and outbox on one PostgreSQL; with members, shared by several machines.
import type { Clock } from '../../domain/clock.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import { asInput, withInputs } from '../tables/work-rows.ts'
import type { InputRow, RunningRow } from '../tables/work-rows.ts'
import type { LaneShare, LaneWork, WorkStore } from '../work-store.ts'
import type { Postgres } from './connection.ts'
import { Handing } from './redelivery.ts'
import { postgresInbox, takeBack } from './inbox.ts'
import { postgresLanes } from './lanes.ts'
import type { Members } from './members.ts'
import { postgresOutbox } from './outbox.ts'
import { postgresSql } from './sql.ts'

/** A turn of our own that runs in no lane of ours is lost after this; until then it may be about to begin. */
const forgottenMs = 20_000

export function postgresWork(postgres: Postgres, clock: Clock, members?: Members): WorkStore {
  const handing = new Handing(() => takeBack(postgres))
  const sql = postgresSql(postgres)
  return {
    inbox: postgresInbox(postgres, clock, handing),
    lanes: postgresLanes(postgres, clock),
    outbox: postgresOutbox(postgres, clock),
    overheard: overheardIn(sql),
    systemEvents: systemEventsIn(sql, clock),
    ...(members ? { share: laneShare(postgres, clock, members, handing) } : {}),
  }
}

function laneShare(postgres: Postgres, clock: Clock, members: Members, handing: Handing): LaneShare {
  return {
    serves: members.serves,
    async take(room, { idle, failed }) {
      const rows = await handing.surely(() =>
        postgres.write<InputRow & { moved: boolean }>('SELECT * FROM take_lanes($1, $2, $3, $4, $5)', [
          postgres.member,
          members.serves ? room : 1,
          members.serves,
          idle,
          failed,
        ]),
      )
      const work: LaneWork[] = rows.map((row) => ({ input: asInput(row), hasMoved: row.moved }))
      return work
    },
    async lost(busy) {
      const rows = await postgres.write<RunningRow>('SELECT * FROM lost_turns($1, $2, $3)', [
        postgres.member,
        busy,
        clock.now() - forgottenMs,
      ])
      return withInputs(postgresSql(postgres), 'agent', rows)
    },
    wakeOthers: () => members.signal({ kind: 'work' }),
    onWork: (listener) =>
      members.on((signal) => {
        if (signal.kind === 'work') listener()
      }),
    onDeclaredDead: (letGo) => {
      members.onBuried = letGo
    },
    setReach: (reach) => members.setReach(reach),
  }
}
