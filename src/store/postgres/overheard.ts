// What was said around the agent, in PostgreSQL: group messages that were not addressed to it, and things that the
// program wants to tell a session.
import type { Clock } from '../../domain/clock.ts'
import type { Overheard, OverheardEntry, SystemEventRow, SystemEvents } from '../work-store.ts'
import type { Postgres, Statements } from './connection.ts'

export function postgresOverheard(postgres: Postgres): Overheard {
  return {
    async add(group, key, entry, limits) {
      if (limits.entries <= 0) return false
      return postgres.transaction(async (statements) => {
        const added = await statements.rows(
          'INSERT INTO overheard (group_key, key, record) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING RETURNING id',
          [group, key, JSON.stringify(entry)],
        )
        if (added.length > 0) await keepWithin(statements, group, limits)
        return added.length > 0
      })
    },
    async list(group) {
      const rows = await postgres.read<{ id: number; record: string }>(
        'SELECT id, record FROM overheard WHERE group_key = $1 ORDER BY id',
        [group],
      )
      return rows.map((row) => ({ ...(JSON.parse(row.record) as Omit<OverheardEntry, 'id'>), id: row.id }))
    },
  }
}

async function keepWithin(
  { rows }: Statements,
  group: string,
  limits: { entries: number; groups: number },
): Promise<void> {
  await rows(
    `DELETE FROM overheard WHERE group_key = $1 AND id <= (
       SELECT id FROM overheard WHERE group_key = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`,
    [group, limits.entries],
  )
  // The groups that were silent longest.
  await rows(
    `DELETE FROM overheard WHERE group_key IN (
       SELECT group_key FROM overheard GROUP BY group_key ORDER BY max(id) DESC OFFSET $1)`,
    [limits.groups],
  )
}

export function postgresSystemEvents(postgres: Postgres, clock: Clock): SystemEvents {
  return {
    add: (sessionKey, text, limit, instead) =>
      postgres.transaction(async ({ rows }) => {
        await rows('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', ['system event', sessionKey])
        if (instead !== undefined) {
          await rows('DELETE FROM system_event WHERE session_key = $1 AND starts_with(text, $2)', [
            sessionKey,
            instead.replaceAll('\0', '\uFFFD'),
          ])
        }
        const [last] = await rows<{ text: string }>(
          'SELECT text FROM system_event WHERE session_key = $1 ORDER BY id DESC LIMIT 1',
          [sessionKey],
        )
        if (last?.text === text) return
        await rows('INSERT INTO system_event (session_key, text, at) VALUES ($1, $2, $3)', [
          sessionKey,
          text.replaceAll('\0', '\uFFFD'),
          clock.now(),
        ])
        await rows(
          `DELETE FROM system_event WHERE session_key = $1 AND id <= (
             SELECT id FROM system_event WHERE session_key = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`,
          [sessionKey, limit],
        )
      }),
    waiting: (sessionKey) =>
      postgres.read<SystemEventRow>(
        'SELECT id, text, at FROM system_event WHERE session_key = $1 ORDER BY id',
        [sessionKey],
      ),
    async clear(sessionKey) {
      await postgres.write('DELETE FROM system_event WHERE session_key = $1', [sessionKey])
    },
  }
}
