-- A record holds several chunks. The tables are filled again from the packs.
DELETE FROM pack; DELETE FROM file; DELETE FROM removal; DROP TABLE chunk;
CREATE TABLE chunk (
  hash TEXT PRIMARY KEY, pack TEXT NOT NULL, offset INTEGER NOT NULL, start INTEGER NOT NULL, stored INTEGER NOT NULL,
  raw INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
