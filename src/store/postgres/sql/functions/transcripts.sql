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
    bytes = t.bytes + (SELECT sum(octet_length(l) + 1) FROM unnest(lines) l), changed_at = at
  WHERE id = whose;
  RETURN coalesce(t.leaf_id, '');
END $$;
