// Records that every machine keeps a copy of: coding sessions, what they said and asked, what was spent and decided,
// memory files. A copy follows by the records' numbers.

export const recordTables = `
  CREATE SEQUENCE record_seq;
  CREATE TABLE record (
    kind text NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    /* When it became what it is, as far as that decides how long it is kept. */
    at bigint NOT NULL,
    /* None: it was removed, and the copies are to know. */
    body text,
    PRIMARY KEY (kind, id)
  );
  CREATE UNIQUE INDEX record_order ON record (seq);
  CREATE INDEX record_at ON record (kind, at);

  /* A copy of another database, or of a later state of this one, is rebuilt. */
  CREATE TABLE record_origin (id text PRIMARY KEY);
  INSERT INTO record_origin VALUES (gen_random_uuid()::text);

  /* Numbers are given and committed one after the other: who has read up to one has missed none before it. Whoever
     writes records takes this lock before any row. */
  CREATE FUNCTION lock_records() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtext('records'), hashtext(current_schema()))
  $$;
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

  /* Writes a record if it still has the number that was read (0: there is none; null: whatever it has). Nothing: somebody
     was faster. */
  CREATE FUNCTION put_record(its_kind text, its_id text, known bigint, its_at bigint, its_body text) RETURNS bigint
  LANGUAGE plpgsql AS $$
  DECLARE given bigint;
  BEGIN
    PERFORM lock_records();
    IF coalesce(known, 0) = 0 THEN
      INSERT INTO record (kind, id, at, body) VALUES (its_kind, its_id, its_at, its_body)
        ON CONFLICT (kind, id) DO NOTHING RETURNING seq INTO given;
      IF given IS NOT NULL OR known = 0 THEN RETURN given; END IF;
    END IF;
    UPDATE record SET at = its_at, body = its_body
      WHERE kind = its_kind AND id = its_id AND (known IS NULL OR seq = known) RETURNING seq INTO given;
    RETURN given;
  END $$;

  /* Numbers blocks of a group one after the other and forgets the oldest beyond so many. */
  CREATE FUNCTION append_records(its_kind text, its_group text, bodies text[], its_at bigint, keep bigint) RETURNS bigint
  LANGUAGE plpgsql AS $$
  DECLARE last bigint;
  BEGIN
    PERFORM lock_records();
    INSERT INTO record (kind, id, at, body) VALUES (its_kind || '-end', its_group, its_at, array_length(bodies, 1)::text)
      ON CONFLICT (kind, id) DO UPDATE SET at = its_at, body = (record.body::bigint + excluded.body::bigint)::text
      RETURNING body::bigint INTO last;
    INSERT INTO record (kind, id, at, body)
      SELECT its_kind, its_group || '|' || lpad((last - array_length(bodies, 1) + g.place)::text, 12, '0'), its_at, g.body
      FROM unnest(bodies) WITH ORDINALITY AS g (body, place) ORDER BY g.place;
    DELETE FROM record WHERE kind = its_kind AND id >= its_group || '|'
      AND id <= its_group || '|' || lpad(greatest(last - keep, 0)::text, 12, '0');
    RETURN last;
  END $$;
`
