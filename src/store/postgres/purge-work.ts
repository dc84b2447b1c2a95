// Removes what the shared database holds of a session. Deleted rows stay in the server's files until it vacuums them.
import { purgeRows } from '../tables/purge-rows.ts'
import type { PurgedSession } from '../tables/purge-rows.ts'
import { run } from '../tables/sql-database.ts'
import type { Postgres } from './connection.ts'
import { postgresSql } from './sql.ts'

/** Resolves to the files that went with its replies. */
export function purgeSharedWork(postgres: Postgres, session: PurgedSession): Promise<string[]> {
  const key = JSON.stringify(session.key)
  return postgresSql(postgres).transaction(function* () {
    const files = yield* purgeRows(session)
    // A record without a body tells the other machines to remove it from their copies.
    yield* run(
      `UPDATE record SET body = NULL WHERE kind IN ('approval', 'grant') AND position(? in body) > 0`,
      [`"sessionKey":${key}`],
    )
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
  const rows = await postgres.read<{ name: string }>(
    "SELECT name FROM gone WHERE kind = 'claude' AND at > now() - $1::interval",
    [since],
  )
  return rows.map(({ name }) => name)
}
