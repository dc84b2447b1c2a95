-- For the trigger of the session table.
CREATE OR REPLACE FUNCTION count_session(whose text, is_archived boolean, of_key text, delta int) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO session_count VALUES (whose, is_archived, abs(hashtext(of_key)) % 16, delta)
  ON CONFLICT (agent, archived, part) DO UPDATE SET n = session_count.n + delta
$$;

-- Writes a session if its revision is still `known` (0: no such session). Returns false on a conflict. The revisions of a new row
-- begin with the time: a session that was deleted and made again never has a revision that it had before.
CREATE OR REPLACE FUNCTION put_session(
  me text, whose text, its_key text, known bigint, its_id text, changed double precision,
  archived double precision, its_label text, parent text, words text, lean text, its_bulk text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence(me);
  IF known = 0 THEN
    INSERT INTO session (agent, key, session_id, updated_at, archived_at, label, spawned_by, search_text, revision, entry, bulk)
    VALUES (whose, its_key, its_id, changed, archived, its_label, parent, words,
      (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, lean, its_bulk)
    ON CONFLICT (agent, key) DO NOTHING;
  ELSE
    UPDATE session SET session_id = its_id, updated_at = changed, archived_at = archived, label = its_label,
      spawned_by = parent, search_text = words, revision = known + 1, entry = lean, bulk = its_bulk
    WHERE agent = whose AND key = its_key AND revision = known;
  END IF;
  RETURN FOUND;
END $$;
