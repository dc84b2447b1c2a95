// Inbox, lanes and outbox in PostgreSQL; with members, several machines share the work.
import type { Clock } from '../../domain/clock.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import { purgeRows, type PurgedSession } from '../tables/purge-rows.ts'
import { run } from '../tables/sql-database.ts'
import { asInput, withInputs, type InputRow } from '../tables/work-rows.ts'
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
        postgres.write<InputRow & { moved: boolean }>(
          `SELECT id, key, lane, agent AS agent_id, accepted_at, lost_turns, record, moved
           FROM take_lanes($1, $2, $3, $4, $5)`,
          [postgres.member, members.serves ? room : 1, members.serves, idle, failed],
        ),
      )
      return rows.map(({ moved, ...row }) => ({ input: asInput(row), hasMoved: moved }))
    },
    async lost(busy) {
      const rows = await postgres.write<{ id: string }>(
        'SELECT id, lane, agent AS agent_id, kind, owner, started_at FROM lost_turns($1, $2, $3)',
        [postgres.member, busy, clock.now() - lostAfterMs],
      )
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

/** Removes what the shared database holds of a session; the server's files keep deleted rows until it vacuums them. Resolves to
 *  the files of its replies. */
export function purgeSharedWork(postgres: Postgres, session: PurgedSession): Promise<string[]> {
  const key = JSON.stringify(session.key)
  return postgresSql(postgres).transaction(function* () {
    const files = yield* purgeRows(session)
    // A record without a body tells the other machines to remove it from their copies.
    const sql = `UPDATE record SET body = NULL WHERE kind IN ('approval', 'grant') AND position(? in body) > 0`
    yield* run(sql, [`"sessionKey":${key}`])
    yield* run('DELETE FROM event_body WHERE position(? in body) > 0', [key])
    return files
  })
}

/** Removes Claude's entries of a session, with those of its sub-agents; machines that have them as files are notified. */
export async function purgeSharedClaude(postgres: Postgres, sdkSessionId: string): Promise<void> {
  await postgres.transaction(async ({ rows }) => {
    await rows('DELETE FROM claude_entry WHERE session = $1', [sdkSessionId])
    await rows("INSERT INTO gone (kind, name) VALUES ('claude', $1)", [sdkSessionId])
  })
}

export async function purgedClaudeIds(postgres: Postgres, since: string): Promise<string[]> {
  const sql = "SELECT name FROM gone WHERE kind = 'claude' AND at > now() - $1::interval"
  const rows = await postgres.read<{ name: string }>(sql, [since])
  return rows.map(({ name }) => name)
}
