-- One table: the long column is the last, so that reading the others does not touch it.
DROP TABLE usage; DROP TABLE file; DELETE FROM format;
CREATE TABLE file (
  path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime REAL NOT NULL,
  torn INTEGER NOT NULL, mark TEXT NOT NULL, facts TEXT NOT NULL, usage BLOB NOT NULL
) STRICT;
