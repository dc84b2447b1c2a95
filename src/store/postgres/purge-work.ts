// What the shared database holds of a session, removed: the same as purge-work.ts does with SQLite. What the server
// keeps of deleted rows until it is vacuumed is the server's.
import { purgedAnswer } from '../answers.ts'
import type { PurgedSession } from '../purge-work.ts'
import type { Postgres } from './connection.ts'

/** Resolves to the files that went with its replies. */
export function purgeSharedWork(postgres: Postgres, session: PurgedSession): Promise<string[]> {
  const { key, agentId, group } = session
  return postgres.transaction(async ({ rows }) => {
    const sent = await rows<{ record: string }>('DELETE FROM outbox WHERE lane = $1 RETURNING record', [key])
    await rows(`UPDATE inbox SET record = '{}', state = 'stopped' WHERE lane = $1 AND state = 'waiting'`, [
      key,
    ])
    await rows('DELETE FROM system_event WHERE session_key = $1', [key])
    await rows('DELETE FROM sent_message WHERE agent = $1 AND session_key = $2', [agentId, key])
    await rows('DELETE FROM overheard WHERE group_key = $1', [group ?? ''])
    const named = [purgedAnswer, JSON.stringify(key)]
    await rows('UPDATE answer SET output = $1 WHERE position($2 in output) > 0', named)
    return sent.flatMap(
      ({ record }) => (JSON.parse(record) as { reply?: { media?: string[] } }).reply?.media ?? [],
    )
  })
}
