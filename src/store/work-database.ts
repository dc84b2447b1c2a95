// rockpool.sqlite: what must happen. Inbox, outbox, queued turns, coding sessions, approvals and decisions, in one
// database, so that one transaction can take a message in and queue its turn.
import { Database } from './database.ts'
import type { DatabaseOptions, Migration } from './database.ts'
import { codingTables } from './coding-tables.ts'

/** Parts add their tables at the end. What stands here is never edited: databases of users have it. */
const migrations: Migration[] = [codingTables]

export function openWorkDatabase(path: string, options: DatabaseOptions = {}): Database {
  return Database.open(path, migrations, options)
}
