// What the shared database holds of a session, removed: the same as purge-work.ts does with SQLite. What the server
// keeps of deleted rows until it is vacuumed is the server's.
import { purgedAnswer } from '../sqlite/answers.ts'
import type { PurgedSession } from '../sqlite/purge-work.ts'
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
    // The copies of other machines forget them, too.
    await rows(
      `UPDATE record SET body = NULL WHERE kind IN ('approval', 'grant') AND position($1 in body) > 0`,
      [`"sessionKey":${JSON.stringify(key)}`],
    )
    await rows('DELETE FROM event_body WHERE position($1 in body) > 0', [JSON.stringify(key)])
    const named = [purgedAnswer, JSON.stringify(key)]
    await rows('UPDATE answer SET output = $1 WHERE position($2 in output) > 0', named)
    return sent.flatMap(
      ({ record }) => (JSON.parse(record) as { reply?: { media?: string[] } }).reply?.media ?? [],
    )
  })
}

/** Claude's entries of a session, those of its sub-agents included; machines that have them as files are told. */
export async function purgeSharedClaude(postgres: Postgres, sdkSessionId: string): Promise<void> {
  await postgres.transaction(async ({ rows }) => {
    await rows('DELETE FROM claude_entry WHERE session = $1', [sdkSessionId])
    await rows("INSERT INTO gone (kind, name) VALUES ('claude', $1)", [sdkSessionId])
  })
}

export async function purgedClaudeIds(postgres: Postgres, since: string): Promise<string[]> {
  const rows = await postgres.read<{ name: string }>(
    "SELECT name FROM gone WHERE kind = 'claude' AND at > now() - $1::interval",
    [since],
  )
  return rows.map(({ name }) => name)
}
