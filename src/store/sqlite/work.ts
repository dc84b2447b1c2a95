// Inbox, turns and outbox in SQLite, on one database: a step that touches several of them is one transaction. A message is
// durable here before its platform gets the acknowledgement, and a reply before it is sent. A unique index keeps two processes
// from running turns of one session at the same time.
import type { Clock } from '../../domain/clock.ts'
import type { Delivery } from '../../domain/reply.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import { purgeRows, type PurgedSession } from '../tables/purge-rows.ts'
import { run } from '../tables/sql-database.ts'
import {
  inboxReads,
  knownInput,
  newOutboxRow,
  outboxReads,
  shownSince,
  takeAlone,
  turnReads,
} from '../tables/work-rows.ts'
import type {
  DeliveryChange,
  Inbox,
  Input,
  Outbox,
  OutboxRow,
  TurnLanes,
  TurnOutcome,
  WaitingInput,
  WorkStore,
} from '../work-store.ts'
import type { Database } from './database.ts'
import type { Queries } from './queries.ts'
import { sqliteSql } from './sql.ts'

export function sqliteWork(db: Database, clock: Clock): WorkStore {
  const sql = sqliteSql(db)
  return {
    inbox: sqliteInbox(db, clock),
    lanes: sqliteTurnLanes(db, clock),
    outbox: sqliteOutbox(db, clock),
    overheard: overheardIn(sql),
    systemEvents: systemEventsIn(sql, clock),
  }
}

function sqliteInbox(db: Database, clock: Clock): Inbox {
  const sql = sqliteSql(db)
  const reads = inboxReads(sql, 'agent_id')
  return {
    ...reads,
    async knows(key) {
      const isKnown = db.sharedRead((q) => q.get(knownInput, key)) !== undefined
      // The caller acknowledges a message that is known.
      if (isKnown) await db.synced()
      return isKnown
    },
    accept: (input) => db.write((q) => insertInput(q, input, clock.now())),
    end: (ids, how, deliveries = []) =>
      db.write((q) => {
        for (const id of ids) q.run(`${endInput} WHERE id = ?2`, how, id)
        return insertDeliveries(q, deliveries, clock.now())
      }),
    forget: (before) =>
      sql.run(`DELETE FROM inbox WHERE accepted_at < ? AND state NOT IN ('waiting', 'running')`, [before]),
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

/** Their text is no longer needed, unless a person may ask for them again. */
const endInput = `UPDATE inbox SET state = ?1, record = iif(?1 = 'given-up', record, '{}')`

function sqliteTurnLanes(db: Database, clock: Clock): TurnLanes {
  return {
    ...turnReads(sqliteSql(db), 'agent_id'),
    begin: (turn) => db.write((q) => beginTurn(q, turn, clock.now())),
    join: (turnId, inputs) =>
      db.write((q) => {
        const running = q.get(`SELECT 1 FROM turn WHERE id = ? AND state = 'running'`, turnId)
        return running !== undefined && claimInputs(q, turnId, inputs)
      }),
    asked: (turnId) =>
      db.write((q) => {
        q.run(`UPDATE inbox SET asked = asked + 1 WHERE turn_id = ? AND state = 'running'`, turnId)
      }),
    finish: (turnId, outcome) => db.write((q) => finishTurn(q, turnId, outcome, clock.now())),
    release: (turnId) => db.write((q) => releaseTurn(q, turnId, clock.now())),
  }
}

function beginTurn(q: Queries, turn: Parameters<TurnLanes['begin']>[0], now: number): boolean {
  const { id, lane, agentId, kind, owner, inputs } = turn
  const { changes } = q.run(
    `INSERT INTO turn (id, lane, agent_id, kind, state, owner, started_at) VALUES (?, ?, ?, ?, 'running', ?, ?)
     ON CONFLICT DO NOTHING`,
    id,
    lane,
    agentId,
    kind,
    owner,
    now,
  )
  if (changes === 0) return false
  if (claimInputs(q, id, inputs)) return true
  q.run('DELETE FROM turn WHERE id = ?', id)
  return false
}

/** All of them or none. */
function claimInputs(q: Queries, turnId: string, inputs: number[]): boolean {
  const claim = `UPDATE inbox SET state = 'running', turn_id = ? WHERE id = ? AND state = 'waiting'`
  const claimed = inputs.filter((id) => q.run(claim, turnId, id).changes === 1)
  if (claimed.length === inputs.length) return true
  for (const id of claimed) q.run(`UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ?`, id)
  return false
}

const endInputsOfTurn = `${endInput} WHERE turn_id = ?2 AND state = 'running'`
const inputEnds = { completed: 'answered', interrupted: 'stopped', failed: 'failed' } as const

function finishTurn(q: Queries, turnId: string, outcome: TurnOutcome, now: number): OutboxRow[] {
  const { end, usage, received } = outcome
  q.run(
    `UPDATE turn SET state = 'done', ended_at = ?, end_kind = ?, session_id = ?, model = ?, input = ?, output = ?,
       cache_read = ?, cache_write = ?, cost_usd = ?, context_tokens = ?, compactions = ? WHERE id = ?`,
    now,
    end.kind === 'failed' ? end.why : end.kind,
    outcome.sessionId ?? null,
    outcome.model ?? null,
    usage?.input ?? 0,
    usage?.output ?? 0,
    usage?.cacheRead ?? 0,
    usage?.cacheWrite ?? 0,
    outcome.costUsd ?? 0,
    outcome.contextTokens ?? null,
    outcome.compactions ?? 0,
    turnId,
  )
  for (const id of outcome.unanswered ?? [])
    q.run(`UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ? AND state = 'running'`, id)
  q.run(endInputsOfTurn, inputEnds[end.kind], turnId)
  for (const id of received?.systemEvents ?? []) q.run('DELETE FROM system_event WHERE id = ?', id)
  if (received?.overheard) {
    const { group, upTo } = received.overheard
    q.run('DELETE FROM overheard WHERE group_key = ? AND id <= ?', group, upTo)
  }
  return insertDeliveries(q, outcome.deliveries, now, outcome.sendsFirst)
}

function releaseTurn(q: Queries, turnId: string, now: number): void {
  const end = `UPDATE turn SET state = 'done', ended_at = ?, end_kind = 'lost' WHERE id = ? AND state = 'running'`
  q.run(end, now, turnId)
  q.run(
    `UPDATE inbox SET state = 'waiting', turn_id = NULL, lost_turns = lost_turns + 1
     WHERE turn_id = ? AND state = 'running'`,
    turnId,
  )
}

function sqliteOutbox(db: Database, clock: Clock): Outbox {
  const sql = sqliteSql(db)
  const reads = outboxReads(sql)
  return {
    ...reads,
    add: (deliveries) => db.write((q) => insertDeliveries(q, deliveries, clock.now())),
    leave: (deliveries) => db.write((q) => void insertDeliveries(q, deliveries, clock.now())),
    change: (id, change) => db.write((q) => changeDelivery(q, id, change, clock.now())),
    take: (afterSeq) => takeAlone(reads, afterSeq),
    shownSince: (since, to) => shownSince(sql, { since, to, isForeign: { sql: 'false', values: [] } }),
  }
}

/** Queues replies, as part of the transaction that ends the inputs that they answer. */
function insertDeliveries(q: Queries, deliveries: Delivery[], now: number, sendsFirst = false): OutboxRow[] {
  return deliveries.flatMap((delivery, index) => {
    const isMarked = sendsFirst && index === 0
    const { id, idempotencyKey, lane } = delivery
    const added = q.run(
      `INSERT INTO outbox (id, idempotency_key, lane, state, attempts, updated_at, record)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (idempotency_key) DO NOTHING`,
      id,
      idempotencyKey,
      lane,
      isMarked ? 'attempting' : 'queued',
      Number(isMarked),
      now,
      JSON.stringify(delivery),
    )
    return added.changes === 0 ? [] : [newOutboxRow(added.lastInsertRowid, delivery, now, isMarked)]
  })
}

const updateDelivery = (columns: string): string =>
  `UPDATE outbox SET updated_at = ?, state = ?, ${columns} WHERE id = ?`
const setMessageIds = updateDelivery('message_ids = ?')
const setAttempt = updateDelivery('attempts = attempts + 1, resent = max(resent, ?)')
const setRetry = updateDelivery('not_before = ?, reason = ?')
const setReason = updateDelivery('reason = ?')

function changeDelivery(q: Queries, id: string, change: DeliveryChange, now: number): void {
  const { state } = change
  const at = change.state === 'sent' ? (change.at ?? now) : now
  if ('messageIds' in change) q.run(setMessageIds, at, state, JSON.stringify(change.messageIds), id)
  else if (change.state === 'attempting') q.run(setAttempt, now, state, Number(change.resent), id)
  else if (change.state === 'retry') q.run(setRetry, now, state, change.notBefore, change.reason, id)
  else q.run(setReason, now, state, change.reason, id)
}

/** Removes what the state database holds of a session, so that no byte is left in the file. Resolves to the files of its replies. */
export async function purgeWork(db: Database, session: PurgedSession): Promise<string[]> {
  const files = await sqliteSql(db).transaction(function* () {
    yield* run('DELETE FROM approval WHERE session_key = ?', [session.key])
    yield* run('DELETE FROM grant_always WHERE session_key = ?', [session.key])
    return yield* purgeRows(session)
  })
  await db.rewrite()
  return files
}
