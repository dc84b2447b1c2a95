-- Inbox, turns, outbox. Ended rows keep their key, so that nothing is accepted or sent twice, and lose their text.
CREATE TABLE inbox (
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
CREATE INDEX system_event_session ON system_event (session_key, id);
