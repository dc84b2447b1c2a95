// Inbox, lanes and outbox in PostgreSQL; with members, several machines share the work.
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import { purgeRows, type PurgedSession } from '../tables/purge-rows.ts'
import { run } from '../tables/sql-database.ts'
import {
  asInput,
  inboxReads,
  newOutboxRow,
  turnReads,
  withInputs,
  type InputRow,
} from '../tables/work-rows.ts'
import type {
  Inbox,
  Input,
  LaneHolder,
  LaneShare,
  OutboxRow,
  SystemEventRow,
  SystemEvents,
  TurnLanes,
  TurnOutcome,
  WaitingInput,
  WorkStore,
} from '../work-store.ts'
import type { Postgres } from './connection.ts'
import { callEach, numberList, type GroupedCall } from './grouped-calls.ts'
import { Redelivery } from './redelivery.ts'
import type { Members } from './members.ts'
import { addDeliveries, deliveryArguments, ownRow, postgresOutbox } from './outbox.ts'
import { postgresSql } from './sql.ts'

/** A running turn of this process in a lane without work here is lost after this time; before, it may be about to begin. */
const lostAfterMs = 20_000

export function postgresWork(postgres: Postgres, clock: Clock, members?: Members): WorkStore {
  const redelivery = new Redelivery(() => resetHandedInputs(postgres))
  const sql = postgresSql(postgres)
  // Rows have the database's time, so that machines whose clocks differ agree on the order of what happened in a chat.
  const shared: Clock = { ...clock, now: () => clock.now() + postgres.aheadMs }
  return {
    inbox: postgresInbox(postgres, shared, redelivery),
    lanes: postgresLanes(postgres, shared),
    outbox: postgresOutbox(postgres, shared),
    overheard: overheardIn(sql),
    systemEvents: { ...systemEventsIn(sql, clock), waiting: waitingEvents(postgres) },
    share: members && laneShare(postgres, shared, members, redelivery),
  }
}

function waitingEvents(postgres: Postgres): SystemEvents['waiting'] {
  const find = postgres.grouped<SystemEventRow>(
    'read',
    `SELECT place, id, text, at FROM unnest($1::text[]) WITH ORDINALITY AS call (key, place)
     JOIN system_event ON session_key = call.key ORDER BY id`,
  )
  return async (sessionKey) => (await find([sessionKey])).map(({ id, text, at }) => ({ id, text, at }))
}

/** The messages of a lane are numbered in the order of their commits, over all machines. */
function postgresInbox(postgres: Postgres, clock: Clock, redelivery: Redelivery): Inbox {
  const find = postgres.grouped(
    'read',
    'SELECT place FROM unnest($1::text[]) WITH ORDINALITY AS call (key, place) JOIN inbox USING (key)',
  )
  const accept = postgres.grouped<AcceptedRow>('write', callEach('accept_input', acceptTypes))
  const reads = inboxReads(postgresSql(postgres), 'agent')
  return {
    ...reads,
    async lastAcceptedAt(of) {
      const at = await reads.lastAcceptedAt(of)
      return at === undefined ? undefined : at - postgres.aheadMs
    },
    knows: async (key) => (await find([key])).length > 0,
    accept: (input, hasRoom = false) =>
      redelivery.receive(() => acceptInput(accept, postgres.member, input, { now: clock.now(), hasRoom })),
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
function resetHandedInputs(postgres: Postgres): Promise<unknown> {
  const sql = `UPDATE inbox SET handed_to = NULL WHERE handed_to = $1 AND state = 'waiting'`
  return postgres.write(sql, [postgres.member])
}

interface AcceptedRow {
  new_id: number
  holder: string | null
  moved: boolean
}

const acceptTypes = 'text boolean text text text bigint text text'

async function acceptInput(
  accept: GroupedCall<AcceptedRow>,
  member: string | null,
  input: Input,
  { now, hasRoom }: { now: number; hasRoom: boolean },
): Promise<WaitingInput | undefined> {
  const { key, lane, agentId, isWatched = false, ...record } = input
  const pin = isWatched ? member : null
  const values = [member, hasRoom || isWatched, key, lane, agentId, now, pin, JSON.stringify(record)]
  const [row] = await accept(values, lane)
  if (!row) return undefined
  const accepted = { ...input, id: row.new_id, acceptedAt: now, lostTurns: 0 }
  if (member === null) return accepted
  const laneServer = row.holder === null ? 'nowhere' : row.holder === member ? 'here' : 'elsewhere'
  return { ...accepted, laneServer, hasMoved: row.moved }
}

/** A unique index keeps two machines from running turns of one session at the same time; writes of a member that was declared
 *  dead are refused. */
function postgresLanes(postgres: Postgres, clock: Clock): TurnLanes {
  const begin = postgres.grouped<{ f: boolean }>('repeat', callEach('begin_turn', beginTypes))
  const noteAsked = postgres.grouped(
    'write',
    // A row that is locked belongs to a turn that is being ended.
    `UPDATE inbox SET asked = asked + 1 FROM (
       SELECT id, place FROM unnest($1::text[]) WITH ORDINALITY AS call (turn, place)
       JOIN inbox ON turn_id = turn AND state = 'running' FOR UPDATE OF inbox SKIP LOCKED
     ) AS one WHERE inbox.id = one.id RETURNING place`,
  )
  const end = postgres.grouped<EndedRow>('write', callEach('end_turn', endTypes))
  const reads = turnReads(postgresSql(postgres), 'agent')
  return {
    ...reads,
    async history({ since = 0, ...filter } = {}) {
      const { aheadMs } = postgres
      const turns = await reads.history({ ...filter, since: since + aheadMs })
      return turns.map((turn) => ({
        ...turn,
        startedAt: turn.startedAt - aheadMs,
        endedAt: turn.endedAt - aheadMs,
      }))
    },
    async begin(turn) {
      const { id, lane, agentId, kind, owner, inputs } = turn
      const { member } = postgres
      const about = [member, id, lane, agentId, kind, member ?? owner, numberList(inputs), clock.now()]
      const [row] = await begin(about, lane)
      return row!.f
    },
    async join(turnId, inputs) {
      const values = [postgres.member, turnId, inputs]
      const sql = 'SELECT join_turn($1, $2, $3) AS joined'
      const [row] = await postgres.repeat<{ joined: boolean }>(sql, values)
      return row!.joined
    },
    async asked(turnId) {
      await noteAsked([turnId])
    },
    finish: (turnId, outcome) =>
      // Until it succeeds, the answer exists in memory only.
      postgres.untilBack(() => finishTurn(postgres, end, { turnId, outcome, now: clock.now() })),
    async release(turnId) {
      await postgres.repeat('SELECT release_turn($1, $2)', [turnId, clock.now()])
    },
  }
}

const beginTypes = 'text text text text text text bigint[] bigint'
const endTypes = 'text text bigint jsonb bigint[] bigint[] text bigint jsonb boolean'

interface EndedRow {
  done: 'done' | 'again' | 'lost'
  /** Which delivery; null without deliveries. */
  nth: number | null
  /** Null if an earlier call, whose reply was lost, added the delivery. */
  new_seq: number | null
  mine: boolean
  marked: boolean
}

async function finishTurn(
  postgres: Postgres,
  end: GroupedCall<EndedRow>,
  { turnId, outcome, now }: { turnId: string; outcome: TurnOutcome; now: number },
): Promise<OutboxRow[]> {
  const { received, deliveries, sendsFirst = false, unanswered = [] } = outcome
  const { systemEvents = [], overheard } = received ?? {}
  const values = [
    postgres.member,
    turnId,
    now,
    JSON.stringify(recordOf(outcome)),
    numberList(unanswered),
    numberList(systemEvents),
    overheard?.group ?? null,
    overheard?.upTo ?? null,
    JSON.stringify(deliveries.map(deliveryArguments)),
    sendsFirst,
  ]
  const rows = await end(values, deliveries[0]?.lane)
  if (rows[0]!.done === 'lost')
    throw new RockpoolError('lock-lost', `Another process has taken over the turn ${turnId} meanwhile.`, {
      hint: 'Its answer is dropped here; the other one answers.',
    })
  const added = rows.flatMap(async ({ nth, new_seq: seq, mine, marked }) => {
    if (nth === null) return []
    const delivery = deliveries[nth - 1]!
    if (seq === null) return ownRow(postgres.write.bind(postgres), postgres.member, delivery.id)
    return mine ? [newOutboxRow(seq, delivery, now, marked)] : []
  })
  return (await Promise.all(added)).flat()
}

function recordOf(outcome: TurnOutcome): Record<string, unknown> {
  const { end, usage, sessionId, model, costUsd, contextTokens, compactions } = outcome
  const how = end.kind === 'failed' ? end.why : end.kind
  return { end: how, ...usage, sessionId, model, costUsd, contextTokens, compactions }
}

const isUnheld = `state = 'waiting' AND NOT EXISTS (SELECT 1 FROM member WHERE member.id IN (handed_to, pin))`

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
    holders: (lane, inputKey) =>
      postgres.read<LaneHolder>(
        `SELECT DISTINCT machine, serves FROM member JOIN (
           SELECT turn.owner AS holder, inbox.key FROM turn JOIN inbox ON turn_id = turn.id AND inbox.state = 'running'
             WHERE turn.lane = $2 AND turn.state = 'running'
           UNION ALL
           SELECT coalesce(handed_to, pin), key FROM inbox WHERE lane = $2 AND state = 'waiting'
         ) AS input ON member.id = holder
         WHERE member.id IS DISTINCT FROM $1 AND ($3::text IS NULL OR key = $3)`,
        [postgres.member, lane, inputKey ?? null],
      ),
    async keep(input) {
      const rows = await postgres.write(
        `UPDATE inbox SET pin = $1 WHERE id = $2 AND state = 'waiting' AND (pin = $1 OR (handed_to IS NULL AND EXISTS (
           SELECT 1 FROM inbox AS earlier JOIN member ON member.id = earlier.pin
           WHERE earlier.lane = inbox.lane AND earlier.state = 'waiting' AND earlier.id < inbox.id))) RETURNING id`,
        [postgres.member, input],
      )
      return rows.length > 0
    },
    async unheld(lane) {
      const rows = await postgres.read<InputRow>(
        `SELECT id, key, lane, agent AS agent_id, accepted_at, lost_turns, record FROM inbox
         WHERE lane = $1 AND ${isUnheld} ORDER BY id`,
        [lane],
      )
      return rows.map((row) => asInput(row))
    },
    stopUnheld: (inputs) => stopUnheld(postgres, inputs),
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

function stopUnheld(postgres: Postgres, inputs: readonly number[]): Promise<number> {
  return postgres.transaction(async ({ rows, run: change }) => {
    await rows('SELECT lock_lanes($1)', [inputs])
    const sql = `UPDATE inbox SET state = 'stopped', record = '{}' WHERE id = ANY ($1) AND ${isUnheld}`
    return change(sql, [inputs])
  })
}

/** Removes what the shared database holds of a session; the server's files keep deleted rows until it vacuums them. Resolves to
 *  the files of its replies. */
export function purgeSharedWork(postgres: Postgres, session: PurgedSession): Promise<string[]> {
  const key = JSON.stringify(session.key)
  return postgresSql(postgres).transaction(function* () {
    const files = yield* purgeRows(session)
    // A record without a body tells the other machines to remove it from their copies.
    const sql = `UPDATE record SET body = NULL WHERE kind IN ('approval', 'grant', 'request') AND position(? in body) > 0`
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
