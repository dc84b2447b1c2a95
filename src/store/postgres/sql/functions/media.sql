-- Adding a name to stored bytes and removing their last name exclude each other.
CREATE OR REPLACE FUNCTION lock_media(its_hash text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtext('media ' || current_schema()), hashtext(its_hash))
$$;

-- Gives stored bytes a name. Returns false when the bytes are not stored.
CREATE OR REPLACE FUNCTION name_media(its_name text, its_hash text, its_at bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_media(its_hash);
  INSERT INTO media_file SELECT its_name, its_hash, its_at FROM media_blob WHERE hash = its_hash
    ON CONFLICT (name) DO NOTHING;
  RETURN FOUND OR EXISTS (SELECT 1 FROM media_file WHERE name = its_name);
END $$;

-- Removes names, and bytes without a name. Machines that have a copy are notified (gone).
CREATE OR REPLACE FUNCTION remove_media(names text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE hashes text[]; each_hash text; removed bigint;
BEGIN
  SELECT array_agg(DISTINCT hash ORDER BY hash) INTO hashes FROM media_file WHERE name = ANY (names);
  FOREACH each_hash IN ARRAY coalesce(hashes, '{}') LOOP PERFORM lock_media(each_hash); END LOOP;
  WITH went AS (DELETE FROM media_file WHERE name = ANY (names) RETURNING name)
    INSERT INTO gone (kind, name) SELECT 'media', name FROM went;
  GET DIAGNOSTICS removed = ROW_COUNT;
  DELETE FROM media_blob AS b
    WHERE hash = ANY (hashes) AND NOT EXISTS (SELECT 1 FROM media_file AS f WHERE f.hash = b.hash);
  RETURN removed;
END $$;
