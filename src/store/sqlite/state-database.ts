// The state database, <state>/rockpool.sqlite: what must survive a crash. A part that needs a durable table adds a numbered file
// at the end of this list. The position in the list is the version of the schema; a released file never changes.
import { Database, type DatabaseOptions } from './database.ts'
import { sqlFiles } from './migrations.ts'

export const stateMigrations = sqlFiles(
  'state/001-answers.sql',
  'state/002-coding-sessions.sql',
  'state/003-work.sql',
  'state/004-decisions.sql',
  'state/005-people-and-sent-messages.sql',
  'state/006-coding-owners.sql',
  'state/007-record-cursor.sql',
  'state/008-asked-inputs.sql',
  'state/009-permission-rules.sql',
  'state/010-usage-windows.sql',
  'state/011-schedules.sql',
  'state/012-mail.sql',
  'state/013-schedule-names.sql',
  'state/014-unused-turn-index.sql',
  'state/015-sent-questions.sql',
  'state/016-first-owner.sql',
  'state/017-mail-giver.sql',
  'state/018-sent-in-order.sql',
  'state/019-offline-sessions.sql',
)

export function openStateDatabase(path: string, options: DatabaseOptions = {}): Database {
  const isOnlyCopy = options.durability !== 'relaxed'
  return Database.open(path, stateMigrations, { isOnlyCopy, ...options })
}
