CREATE TABLE claude_entry (
  seq INTEGER PRIMARY KEY,
  project TEXT NOT NULL, session TEXT NOT NULL, subpath TEXT NOT NULL,
  uuid TEXT, entry TEXT NOT NULL, at INTEGER NOT NULL
) STRICT;
CREATE INDEX claude_entry_place ON claude_entry (project, session, subpath, seq);
CREATE UNIQUE INDEX claude_entry_uuid ON claude_entry (project, session, subpath, uuid) WHERE uuid IS NOT NULL;
