-- Records that every machine keeps a copy of: coding sessions and their output, approvals, spend, decisions. A copy follows by
-- the numbers of the records.

CREATE SEQUENCE record_seq;
CREATE TABLE record (
  kind text NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  -- The time that decides how long the record is kept.
  at bigint NOT NULL,
  -- Null: the record was removed. The row stays so that the copies remove it too.
  body text,
  PRIMARY KEY (kind, id)
);
CREATE UNIQUE INDEX record_order ON record (seq);
CREATE INDEX record_at ON record (kind, at);

-- Identifies this database. A copy with another id, or with a higher number than this database, is rebuilt.
CREATE TABLE record_origin (id text PRIMARY KEY);
INSERT INTO record_origin VALUES (gen_random_uuid()::text);

CREATE FUNCTION number_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_records();
  NEW.seq := nextval('record_seq');
  RETURN NEW;
END $$;
CREATE TRIGGER record_numbered BEFORE INSERT OR UPDATE ON record
  FOR EACH ROW EXECUTE FUNCTION number_record();
CREATE FUNCTION tell_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(left('rockpool ' || current_schema(), 63), '{"from":"","signals":[{"kind":"records"}]}');
  RETURN NULL;
END $$;
CREATE TRIGGER record_told AFTER INSERT OR UPDATE ON record
  FOR EACH STATEMENT EXECUTE FUNCTION tell_records();
