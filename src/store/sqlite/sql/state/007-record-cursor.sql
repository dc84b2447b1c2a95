-- How far the copy of the shared records is (store/postgres/records.ts).
CREATE TABLE record_cursor (origin TEXT NOT NULL, seq INTEGER NOT NULL) STRICT;
