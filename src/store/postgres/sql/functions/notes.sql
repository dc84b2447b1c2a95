-- Writes a note if its revision is still `known` (0: no such note). Returns the new revision, or null on a conflict. A revision is
-- at least the current time, so that a database restored from a backup never gives out a revision twice.
CREATE OR REPLACE FUNCTION put_memory(
  whose text, its_name text, known bigint, its_body bytea, its_at bigint, of_machine text, home text, stamp text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  given bigint;
  its_stamp jsonb := jsonb_build_object(home, stamp);
  next bigint := greatest(known + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
BEGIN
  IF known = 0 THEN
    INSERT INTO memory_file VALUES (whose, its_name, next, its_body, its_at, of_machine, its_stamp)
      ON CONFLICT (agent, name) DO NOTHING RETURNING revision INTO given;
  ELSE
    UPDATE memory_file SET revision = next, body = its_body, at = its_at, machine = of_machine,
      stamps = stamps || its_stamp
    WHERE agent = whose AND name = its_name AND revision = known RETURNING revision INTO given;
  END IF;
  RETURN given;
END $$;
