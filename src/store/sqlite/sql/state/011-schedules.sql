-- Schedules and their runs (schedule-store.ts).
CREATE TABLE schedule (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  -- The next due time; null while it is paused, or when there is none.
  next_at INTEGER,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX schedule_next ON schedule (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE schedule_run (
  id TEXT PRIMARY KEY,
  schedule_id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  told_at INTEGER,
  cost_usd REAL NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX schedule_run_of ON schedule_run (schedule_id, due_at);
CREATE INDEX schedule_run_at ON schedule_run (due_at);
-- Few runs are open or have a notice to send.
CREATE INDEX schedule_run_open ON schedule_run (due_at) WHERE state IN ('due', 'begun') OR told_at IS NULL;
