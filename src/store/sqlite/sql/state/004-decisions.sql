-- Why sessions were chosen (decisions.ts).
CREATE TABLE decision (
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
CREATE INDEX decision_session_decision ON decision_session (decision_id);
