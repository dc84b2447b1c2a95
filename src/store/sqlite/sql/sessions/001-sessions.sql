CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  updated_at REAL NOT NULL,
  archived_at REAL,
  label TEXT,
  spawned_by TEXT,
  search_text TEXT NOT NULL,
  revision INTEGER NOT NULL,
  entry TEXT NOT NULL
) STRICT;
CREATE INDEX session_live ON session (updated_at DESC, key) WHERE archived_at IS NULL;
CREATE INDEX session_archived ON session (updated_at DESC, key) WHERE archived_at IS NOT NULL;
CREATE INDEX session_by_session_id ON session (session_id);
CREATE INDEX session_by_label ON session (label) WHERE label IS NOT NULL;
CREATE TABLE session_bulk (
  id INTEGER PRIMARY KEY REFERENCES session ON DELETE CASCADE,
  fields TEXT NOT NULL
) STRICT;
-- Values of an imported sessions.json that are no entries; they are written back with the others.
CREATE TABLE unusable (key TEXT PRIMARY KEY, raw TEXT NOT NULL, fault TEXT NOT NULL) STRICT;
-- What an import or an update replaced although it was not asked to.
CREATE TABLE set_aside (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, why TEXT NOT NULL, at REAL NOT NULL
) STRICT;
-- Deleted since sessions.json was last written, so that an older copy of it does not bring them back.
CREATE TABLE deleted_session (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, at REAL NOT NULL) STRICT;
-- Every change counts one up; sessions.json is as of `mirror_revision`.
CREATE TABLE store_state (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  revision INTEGER NOT NULL,
  mirror_revision INTEGER NOT NULL,
  mirror_identity TEXT
) STRICT;
INSERT INTO store_state VALUES (1, 0, 0, NULL);
