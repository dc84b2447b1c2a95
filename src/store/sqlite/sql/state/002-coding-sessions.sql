-- Coding sessions, their output, approvals and spend.
CREATE TABLE coding_session (
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
CREATE INDEX spend_coding ON spend (coding_id);
