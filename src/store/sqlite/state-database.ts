// The state database, <state>/rockpool.sqlite: what must survive a crash. A part that needs a durable table adds one migration
// at the end of this list. The position in the list is the version of the schema; a released migration never changes.
import { Database } from './database.ts'
import type { DatabaseOptions, Migration } from './database.ts'

const migrations: Migration[] = [
  // 1: answers to requests that carry an idempotency key (store/tables/answers.ts).
  `CREATE TABLE answer (
     who TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
     input_hash TEXT NOT NULL, at INTEGER NOT NULL, output TEXT,
     PRIMARY KEY (who, operation, key)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX answer_at ON answer (at);`,
  // 2: coding sessions, their output, approvals and spend.
  `CREATE TABLE coding_session (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     repo TEXT NOT NULL,
     agent_id TEXT NOT NULL,
     label TEXT,
     sdk_session_id TEXT,
     status TEXT NOT NULL,
     lifecycle TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     ended_at INTEGER,
     cost_usd REAL NOT NULL,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX coding_session_name ON coding_session (name, created_at);
   CREATE INDEX coding_session_sdk ON coding_session (sdk_session_id);
   CREATE INDEX coding_session_open ON coding_session (lifecycle) WHERE lifecycle <> 'ended';
   CREATE INDEX coding_session_created ON coding_session (created_at);

   CREATE TABLE coding_output (
     session_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
     PRIMARY KEY (session_id, seq)
   ) STRICT, WITHOUT ROWID;

   -- Which chat watches which session, and how far it has seen.
   CREATE TABLE coding_watch (
     session_id TEXT NOT NULL, channel TEXT NOT NULL, seen_seq INTEGER NOT NULL, foreground INTEGER NOT NULL,
     PRIMARY KEY (session_id, channel)
   ) STRICT, WITHOUT ROWID;

   -- What another process asks the owner of a session to do; the owner answers in the row.
   CREATE TABLE coding_request (
     id TEXT PRIMARY KEY, session_id TEXT NOT NULL, action TEXT NOT NULL, input TEXT NOT NULL,
     asked_at INTEGER NOT NULL, answer TEXT
   ) STRICT;

   CREATE TABLE approval (
     id TEXT PRIMARY KEY, coding_id TEXT, session_key TEXT, agent_id TEXT NOT NULL,
     state TEXT NOT NULL, asked_at INTEGER NOT NULL, input_hash TEXT NOT NULL, record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX approval_pending ON approval (asked_at) WHERE state = 'pending';

   -- "Allow always": this tool, this pattern, this session.
   CREATE TABLE grant_always (
     id TEXT PRIMARY KEY, coding_id TEXT, session_key TEXT, tool TEXT NOT NULL, pattern TEXT NOT NULL,
     granted_at INTEGER NOT NULL, granted_by TEXT NOT NULL
   ) STRICT;

   -- What each call to a model cost: budgets and charts are sums over it.
   CREATE TABLE spend (
     id TEXT PRIMARY KEY, at INTEGER NOT NULL, day TEXT NOT NULL, coding_id TEXT, session_key TEXT,
     repo TEXT, agent_id TEXT NOT NULL, model TEXT NOT NULL, usd REAL NOT NULL, subagent INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX spend_day ON spend (day);
   CREATE INDEX spend_coding ON spend (coding_id);`,
  // 3: inbox, turns, outbox. Ended rows keep their key, so that nothing is accepted or sent twice, and lose their text.
  `CREATE TABLE inbox (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     key TEXT NOT NULL UNIQUE,
     lane TEXT NOT NULL,
     agent_id TEXT NOT NULL,
     state TEXT NOT NULL,
     accepted_at INTEGER NOT NULL,
     lost_turns INTEGER NOT NULL DEFAULT 0,
     turn_id TEXT,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX inbox_open ON inbox (lane, id) WHERE state IN ('waiting', 'running');
   CREATE INDEX inbox_turn ON inbox (turn_id) WHERE state = 'running';

   CREATE TABLE turn (
     id TEXT PRIMARY KEY,
     lane TEXT NOT NULL,
     agent_id TEXT NOT NULL,
     kind TEXT NOT NULL,
     state TEXT NOT NULL,
     owner TEXT NOT NULL,
     started_at INTEGER NOT NULL,
     ended_at INTEGER,
     end_kind TEXT,
     session_id TEXT,
     model TEXT,
     input INTEGER NOT NULL DEFAULT 0,
     output INTEGER NOT NULL DEFAULT 0,
     cache_read INTEGER NOT NULL DEFAULT 0,
     cache_write INTEGER NOT NULL DEFAULT 0,
     cost_usd REAL NOT NULL DEFAULT 0,
     context_tokens INTEGER,
     compactions INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;
   -- One turn at a time for each session, over all processes.
   CREATE UNIQUE INDEX turn_running ON turn (lane) WHERE state = 'running';
   CREATE INDEX turn_lane ON turn (lane, started_at);
   CREATE INDEX turn_started ON turn (started_at);

   CREATE TABLE outbox (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     idempotency_key TEXT NOT NULL UNIQUE,
     lane TEXT NOT NULL,
     state TEXT NOT NULL,
     attempts INTEGER NOT NULL DEFAULT 0,
     resent INTEGER NOT NULL DEFAULT 0,
     not_before INTEGER NOT NULL DEFAULT 0,
     reason TEXT,
     message_ids TEXT NOT NULL DEFAULT '[]',
     updated_at INTEGER NOT NULL,
     record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX outbox_open ON outbox (seq) WHERE state IN ('queued', 'attempting', 'retry', 'unknown');

   CREATE TABLE overheard (
     id INTEGER PRIMARY KEY AUTOINCREMENT, group_key TEXT NOT NULL, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL
   ) STRICT;
   CREATE INDEX overheard_group ON overheard (group_key, id);

   CREATE TABLE system_event (
     id INTEGER PRIMARY KEY AUTOINCREMENT, session_key TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX system_event_session ON system_event (session_key, id);`,
  // 4: why sessions were chosen (decisions.ts).
  `CREATE TABLE decision (
     id TEXT PRIMARY KEY,
     at INTEGER NOT NULL,
     repo_path TEXT NOT NULL,
     agent_id TEXT,
     label TEXT,
     task TEXT NOT NULL,
     became TEXT,
     selection BLOB NOT NULL
   ) STRICT;
   CREATE INDEX decision_at ON decision (at);
   -- Which sessions a decision weighed, chose or led to.
   CREATE TABLE decision_session (
     session_id TEXT NOT NULL, decision_id TEXT NOT NULL REFERENCES decision ON DELETE CASCADE,
     PRIMARY KEY (session_id, decision_id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX decision_session_decision ON decision_session (decision_id);`,
  // 5: who may talk (store/tables/pairing.ts), and which session a sent message belongs to (store/tables/reply-map.ts).
  `CREATE TABLE pairing_request (
     channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
     code TEXT NOT NULL UNIQUE, name TEXT, asked_at INTEGER NOT NULL,
     PRIMARY KEY (channel, account, sender)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE paired_person (
     channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
     name TEXT, owner INTEGER NOT NULL, approved_at INTEGER NOT NULL,
     PRIMARY KEY (channel, account, sender)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE sent_message (
     channel TEXT NOT NULL, account TEXT NOT NULL, chat TEXT NOT NULL, message TEXT NOT NULL,
     agent TEXT NOT NULL, session_key TEXT NOT NULL, session_id TEXT, entry_id TEXT, sent_at INTEGER NOT NULL,
     PRIMARY KEY (channel, account, chat, message)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX sent_message_at ON sent_message (sent_at);`,
  // 6: when each process that owns coding sessions sent its last heartbeat.
  'CREATE TABLE coding_owner (owner TEXT PRIMARY KEY, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;',
  // 7: how far the copy of the shared records is (store/postgres/records.ts).
  'CREATE TABLE record_cursor (origin TEXT NOT NULL, seq INTEGER NOT NULL) STRICT;',
  // 8: how often the agent was asked about a message. A message that an earlier version lost once may have been asked.
  'ALTER TABLE inbox ADD COLUMN asked INTEGER NOT NULL DEFAULT 0; UPDATE inbox SET asked = lost_turns;',
]

export function openStateDatabase(path: string, options: DatabaseOptions = {}): Database {
  return Database.open(path, migrations, options)
}
