CREATE TABLE base (
  agent TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, body BLOB NOT NULL, seen TEXT,
  PRIMARY KEY (agent, name)
) STRICT;
