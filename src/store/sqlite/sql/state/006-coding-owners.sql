-- When each process that owns coding sessions sent its last heartbeat.
CREATE TABLE coding_owner (owner TEXT PRIMARY KEY, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
