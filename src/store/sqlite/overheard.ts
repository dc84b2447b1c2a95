// What was said around the agent, kept over a restart: group messages that were not addressed to it, and things that
// the program wants to tell a session.
import type { Clock } from '../../domain/clock.ts'
import type { Database, Queries } from './database.ts'
import type { Overheard, OverheardEntry, SystemEventRow, SystemEvents } from '../work-store.ts'

export function sqliteOverheard(db: Database): Overheard {
  return {
    add: (group, key, entry, limits) =>
      db.write((q) => {
        if (limits.entries <= 0) return false
        const { changes } = q.run(
          'INSERT INTO overheard (group_key, key, record) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING',
          group,
          key,
          JSON.stringify(entry),
        )
        if (changes > 0) keepWithin(q, group, limits)
        return changes > 0
      }),
    list: async (group) =>
      db
        .read((q) =>
          q.all<{ id: number; record: string }>(
            'SELECT id, record FROM overheard WHERE group_key = ? ORDER BY id',
            group,
          ),
        )
        .map((row) => ({ ...(JSON.parse(row.record) as Omit<OverheardEntry, 'id'>), id: row.id })),
  }
}

function keepWithin(q: Queries, group: string, limits: { entries: number; groups: number }): void {
  q.run(
    `DELETE FROM overheard WHERE group_key = ?1 AND id <= (
       SELECT id FROM overheard WHERE group_key = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`,
    group,
    limits.entries,
  )
  const { n } = q.get<{ n: number }>('SELECT count(DISTINCT group_key) AS n FROM overheard')!
  if (n <= limits.groups) return
  // The groups that were silent longest.
  q.run(
    `DELETE FROM overheard WHERE group_key IN (
       SELECT group_key FROM overheard GROUP BY group_key ORDER BY max(id) LIMIT ?)`,
    n - limits.groups,
  )
}

export function sqliteSystemEvents(db: Database, clock: Clock): SystemEvents {
  const rowsOf = (q: Queries, sessionKey: string): SystemEventRow[] =>
    q.all<SystemEventRow>(
      'SELECT id, text, at FROM system_event WHERE session_key = ? ORDER BY id',
      sessionKey,
    )
  return {
    add: (sessionKey, text, limit, instead) =>
      db.write((q) => {
        if (instead !== undefined) {
          q.run('DELETE FROM system_event WHERE session_key = ? AND instr(text, ?) = 1', sessionKey, instead)
        }
        const rows = rowsOf(q, sessionKey)
        if (rows.at(-1)?.text === text) return
        q.run(
          'INSERT INTO system_event (session_key, text, at) VALUES (?, ?, ?)',
          sessionKey,
          text,
          clock.now(),
        )
        for (const row of rows.slice(0, Math.max(0, rows.length + 1 - limit))) {
          q.run('DELETE FROM system_event WHERE id = ?', row.id)
        }
      }),
    waiting: async (sessionKey) => db.read((q) => rowsOf(q, sessionKey)),
    clear: (sessionKey) =>
      db.write((q) => void q.run('DELETE FROM system_event WHERE session_key = ?', sessionKey)),
  }
}
