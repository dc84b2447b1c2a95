-- Finds the transcript of a session, or the one with this name (`is_exact`); makes it when there is none. Then appends lines, with
-- their ids, both separated by line feeds. `may_be_there`: the reply to an earlier call may have been lost, so look first.
CREATE OR REPLACE FUNCTION append_lines(
  me text, whose text, its_name text, is_exact boolean, its_session text, its_topic text, its_header text,
  its_ids text, its_lines text, at bigint, may_be_there boolean
) RETURNS TABLE (name text, parent text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE its_id bigint; ids text[] := string_to_array(its_ids, E'\n');
BEGIN
  IF is_exact THEN
    SELECT t.id, t.name INTO its_id, name FROM transcript AS t WHERE t.agent = whose AND t.name = its_name;
  ELSE
    SELECT t.id, t.name INTO its_id, name FROM transcript AS t
      WHERE t.agent = whose AND t.session_id = its_session AND t.topic_id IS NOT DISTINCT FROM its_topic
        AND t.archived_at IS NULL
      ORDER BY t.name = its_name DESC LIMIT 1;
  END IF;
  IF its_id IS NULL THEN
    INSERT INTO transcript (agent, name, session_id, topic_id, header, bytes, changed_at)
      VALUES (whose, its_name, its_session, its_topic, its_header, octet_length(its_header) + 1, at)
      ON CONFLICT (agent, name) DO NOTHING;
    SELECT t.id, t.name INTO its_id, name FROM transcript AS t WHERE t.agent = whose AND t.name = its_name;
  END IF;
  IF may_be_there THEN
    SELECT coalesce(e.parent_id, '') INTO parent FROM transcript_entry AS e WHERE e.transcript = its_id AND e.id = ids[1];
    IF FOUND THEN RETURN NEXT; RETURN; END IF;
  END IF;
  parent := append_entries(me, its_id, ids, string_to_array(its_lines, E'\n'), at);
  RETURN NEXT;
END $$;

-- Appends lines below the leaf; the row lock serializes appends to one transcript. Returns the parent of the first line, '' for
-- none, or null when there is no such transcript.
CREATE OR REPLACE FUNCTION append_entries(me text, whose bigint, ids text[], lines text[], at bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE t transcript;
BEGIN
  PERFORM fence(me);
  SELECT * INTO t FROM transcript WHERE id = whose FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO transcript_entry
    SELECT whose, t.entries + g.place, g.id, CASE WHEN g.place = 1 THEN t.leaf_id ELSE ids[g.place - 1] END, g.line
    FROM unnest(ids, lines) WITH ORDINALITY AS g (id, line, place);
  UPDATE transcript SET entries = t.entries + array_length(ids, 1), leaf_id = ids[array_length(ids, 1)],
    bytes = t.bytes + octet_length(array_to_string(lines, E'\n')) + 1, changed_at = at
  WHERE id = whose;
  RETURN coalesce(t.leaf_id, '');
END $$;
