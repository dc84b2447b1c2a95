// What the next turn of a session gets in addition to its message: group messages that were not addressed to the agent, and
// events that the program reports to a session.
import { parseStored } from '../../domain/json.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Overheard, OverheardEntry, SystemEventRow, SystemEvents } from '../work-store.ts'
import { get, run, type SqlDatabase, type Transaction } from './sql-database.ts'

export function overheardIn(sql: SqlDatabase): Overheard {
  return {
    async add(group, key, entry, limits) {
      if (limits.entries <= 0) return false
      return sql.transaction(() => addOverheard(group, key, JSON.stringify(entry), limits))
    },
    async list(group) {
      const query = 'SELECT id, record FROM overheard WHERE group_key = ? ORDER BY id'
      const rows = await sql.all<{ id: number; record: string }>(query, [group])
      return rows.map((row) => ({ ...parseStored<Omit<OverheardEntry, 'id'>>(row.record), id: row.id }))
    },
  }
}

function* addOverheard(
  group: string,
  key: string,
  record: string,
  limits: { entries: number; groups: number },
): Transaction<boolean> {
  const query = 'INSERT INTO overheard (group_key, key, record) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING'
  const added = yield* run(query, [group, key, record])
  if (added === 0) return false
  yield* run(
    `DELETE FROM overheard WHERE group_key = ?1 AND id <= (
       SELECT id FROM overheard WHERE group_key = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    [group, limits.entries],
  )
  const groups = yield* get<{ n: number }>('SELECT count(DISTINCT group_key) AS n FROM overheard')
  if (groups!.n <= limits.groups) return true
  // The groups whose last message is the oldest.
  yield* run(
    `DELETE FROM overheard WHERE group_key IN (
       SELECT group_key FROM overheard GROUP BY group_key ORDER BY max(id) LIMIT ?)`,
    [groups!.n - limits.groups],
  )
  return true
}

export function systemEventsIn(sql: SqlDatabase, clock: Clock): SystemEvents {
  return {
    add: (sessionKey, text, limit, instead) =>
      sql.transaction(
        () => addEvent(sessionKey, text, { limit, instead, at: clock.now() }),
        ['system event', sessionKey],
      ),
    waiting: (sessionKey) =>
      sql.all<SystemEventRow>('SELECT id, text, at FROM system_event WHERE session_key = ? ORDER BY id', [
        sessionKey,
      ]),
    async clear(sessionKey) {
      await sql.run('DELETE FROM system_event WHERE session_key = ?', [sessionKey])
    },
  }
}

function* addEvent(
  sessionKey: string,
  text: string,
  { limit, instead, at }: { limit: number; instead: string | undefined; at: number },
): Transaction<void> {
  if (instead !== undefined) {
    const query =
      'DELETE FROM system_event WHERE session_key = ?1 AND substr(text, 1, length(CAST(?2 AS TEXT))) = ?2'
    yield* run(query, [sessionKey, instead])
  }
  const query = 'SELECT text FROM system_event WHERE session_key = ? ORDER BY id DESC LIMIT 1'
  const last = yield* get<{ text: string }>(query, [sessionKey])
  if (last?.text === text) return
  yield* run('INSERT INTO system_event (session_key, text, at) VALUES (?, ?, ?)', [sessionKey, text, at])
  yield* run(
    `DELETE FROM system_event WHERE session_key = ?1 AND id <= (
       SELECT id FROM system_event WHERE session_key = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    [sessionKey, limit],
  )
}
