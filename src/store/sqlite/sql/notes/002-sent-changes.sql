-- Changes that are being sent, each with a stamp that shows whether the database received it; and the owner of the stamps.
CREATE TABLE told (
  agent TEXT NOT NULL, name TEXT NOT NULL, stamp TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (agent, name, stamp)
) STRICT;
CREATE TABLE home (id TEXT NOT NULL) STRICT;
INSERT INTO home VALUES (lower(hex(randomblob(16))));
