-- The shared vault: parts of the packs of each machine, by name.

CREATE TABLE vault_object (name text COLLATE "C" PRIMARY KEY, data bytea NOT NULL);
-- They are compressed already.
ALTER TABLE vault_object ALTER data SET STORAGE EXTERNAL;
