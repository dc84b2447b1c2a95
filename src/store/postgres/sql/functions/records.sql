-- Numbers are assigned and committed in order, so a reader that has seen number n has missed no lower number. Every writer of
-- records takes this lock before it locks a row.
CREATE OR REPLACE FUNCTION lock_records() RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtext('records'), hashtext(current_schema()))
$$;

-- Writes a record if its number is still `known` (0: no such record; null: any number). Returns the new number, or null on a conflict.
CREATE OR REPLACE FUNCTION put_record(its_kind text, its_id text, known bigint, its_at bigint, its_body text) RETURNS bigint
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

-- Appends blocks to a group under the next numbers and keeps the newest `keep`. Returns the last number.
CREATE OR REPLACE FUNCTION append_records(its_kind text, its_group text, bodies text[], its_at bigint, keep bigint) RETURNS bigint
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
