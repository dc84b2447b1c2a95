-- Which lines each transcript added to which files. The names come before the edits, so that reading them does not touch these.
CREATE TABLE edits (
  path TEXT NOT NULL UNIQUE, session TEXT NOT NULL, names BLOB NOT NULL, edits BLOB NOT NULL
) STRICT;
