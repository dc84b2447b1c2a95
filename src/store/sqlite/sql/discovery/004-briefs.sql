-- What lists need of every file is in a table of short rows: a list reads a tenth of the bytes. Facts and usage are read for the
-- sessions that are shown, and for costs.
DROP TABLE file; DELETE FROM format;
CREATE TABLE file (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime REAL NOT NULL,
  torn INTEGER NOT NULL, brief TEXT NOT NULL
) STRICT;
CREATE TABLE facts (id INTEGER PRIMARY KEY, mark TEXT NOT NULL, facts TEXT NOT NULL, usage BLOB NOT NULL) STRICT;
