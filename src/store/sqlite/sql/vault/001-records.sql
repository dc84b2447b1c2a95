-- `scanned`: the records of the pack up to this offset are in the other tables.
CREATE TABLE pack (name TEXT PRIMARY KEY, scanned INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE chunk (
  hash TEXT PRIMARY KEY, pack TEXT NOT NULL, offset INTEGER NOT NULL, stored INTEGER NOT NULL, raw INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE file (
  session TEXT NOT NULL, root TEXT NOT NULL, path TEXT NOT NULL, agent TEXT NOT NULL,
  size INTEGER NOT NULL, mtime REAL NOT NULL, inode INTEGER NOT NULL, kept_at INTEGER NOT NULL,
  pack TEXT NOT NULL, offset INTEGER NOT NULL, settled INTEGER NOT NULL, about TEXT, chunks TEXT NOT NULL,
  PRIMARY KEY (session, root, path)
) STRICT;
CREATE INDEX file_with_about ON file (session) WHERE about IS NOT NULL;
-- `forever`: the session is not kept again, even if it changes.
CREATE TABLE removal (
  session TEXT PRIMARY KEY, at INTEGER NOT NULL, forever INTEGER NOT NULL, pack TEXT NOT NULL, offset INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
