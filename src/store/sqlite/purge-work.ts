// Removes what the state database holds of a session, so that no byte is left in the file.
import { purgeRows } from '../tables/purge-rows.ts'
import type { PurgedSession } from '../tables/purge-rows.ts'
import { run } from '../tables/sql-database.ts'
import type { Database } from './database.ts'
import { sqliteSql } from './sql.ts'

/** Resolves to the files that went with its replies. */
export async function purgeWork(db: Database, session: PurgedSession): Promise<string[]> {
  const files = await sqliteSql(db).transaction(function* () {
    yield* run('DELETE FROM approval WHERE session_key = ?', [session.key])
    yield* run('DELETE FROM grant_always WHERE session_key = ?', [session.key])
    return yield* purgeRows(session)
  })
  await db.rewrite()
  return files
}
