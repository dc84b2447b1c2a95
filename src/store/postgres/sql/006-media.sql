-- Files that came with messages or go with replies: their bytes once, in pieces, and their names. A name is the path below the
-- media folder, which is the same on every machine.

CREATE TABLE media_blob (hash text PRIMARY KEY, bytes bigint NOT NULL);
CREATE TABLE media_piece (
  hash text NOT NULL REFERENCES media_blob ON DELETE CASCADE, n int NOT NULL, data bytea NOT NULL,
  PRIMARY KEY (hash, n)
);
-- Pictures and sound are compressed already.
ALTER TABLE media_piece ALTER data SET STORAGE EXTERNAL;
CREATE TABLE media_file (
  name text COLLATE "C" PRIMARY KEY, hash text NOT NULL REFERENCES media_blob, at bigint NOT NULL
);
CREATE INDEX media_file_hash ON media_file (hash);

CREATE FUNCTION tell_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(left('rockpool ' || current_schema(), 63), '{"from":"","signals":[{"kind":"gone"}]}');
  RETURN NULL;
END $$;
CREATE TRIGGER gone_told AFTER INSERT ON gone FOR EACH STATEMENT EXECUTE FUNCTION tell_gone();
