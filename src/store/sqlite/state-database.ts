// The database of what must happen: <state>/rockpool.sqlite. Every part that needs a durable table adds one
// migration at the end of this list; the order is the schema's version and never changes.
import { Database } from './database.ts'
import type { DatabaseOptions, Migration } from './database.ts'
import { codingOwnerTable, codingTables } from './coding-tables.ts'
import { decisionTables } from './decision-tables.ts'
import { peopleTables } from './people.ts'
import { sentMessageTables } from './reply-map.ts'
import { workTables } from './work-tables.ts'

const migrations: Migration[] = [
  // 1: answers to requests that carry an idempotency key (answers.ts).
  `CREATE TABLE answer (
     who TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
     input_hash TEXT NOT NULL, at INTEGER NOT NULL, output TEXT,
     PRIMARY KEY (who, operation, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX answer_at ON answer (at);`,
  // 2: coding sessions, their output, approvals and spend.
  codingTables,
  // 3: inbox, turns, outbox (work-tables.ts).
  workTables,
  // 4: why sessions were chosen (decisions.ts).
  decisionTables,
  // 5: who may talk (pairing.ts), and which session a sent message belongs to (reply-map.ts).
  peopleTables + sentMessageTables,
  // 6: which owners of coding sessions were seen alive.
  codingOwnerTable,
  // 7: how far a copy of the shared records is (store/postgres/records.ts).
  'CREATE TABLE record_cursor (origin TEXT NOT NULL, seq INTEGER NOT NULL) STRICT;',
  // 8: how often the agent was asked about a message. One that an earlier version lost once may have been asked.
  'ALTER TABLE inbox ADD COLUMN asked INTEGER NOT NULL DEFAULT 0; UPDATE inbox SET asked = lost_turns;',
]

export function openStateDatabase(path: string, options: DatabaseOptions = {}): Database {
  return Database.open(path, migrations, options)
}
