// Files that came with messages or go with replies, for all machines: their bytes once, in pieces, and under which names they
// are known. A name is the path below the media folder, which is the same on every machine.

export const mediaTables = `
  CREATE TABLE media_blob (hash text PRIMARY KEY, bytes bigint NOT NULL);
  CREATE TABLE media_piece (
    hash text NOT NULL REFERENCES media_blob ON DELETE CASCADE, n int NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (hash, n)
  );
  /* Pictures and sound are packed already. */
  ALTER TABLE media_piece ALTER data SET STORAGE EXTERNAL;
  CREATE TABLE media_file (
    name text COLLATE "C" PRIMARY KEY, hash text NOT NULL REFERENCES media_blob, at bigint NOT NULL
  );
  CREATE INDEX media_file_hash ON media_file (hash);

  /* Adding a name to stored bytes and removing their last name exclude each other. */
  CREATE FUNCTION lock_media(its_hash text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtext('media ' || current_schema()), hashtext(its_hash))
  $$;

  /* Names bytes that are there. False: they are not. */
  CREATE FUNCTION name_media(its_name text, its_hash text, its_at bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM lock_media(its_hash);
    INSERT INTO media_file SELECT its_name, its_hash, its_at FROM media_blob WHERE hash = its_hash
      ON CONFLICT (name) DO NOTHING;
    RETURN FOUND OR EXISTS (SELECT 1 FROM media_file WHERE name = its_name);
  END $$;

  /* Forgets names, and the bytes that have no other one; machines that have a copy are told. */
  CREATE FUNCTION remove_media(names text[]) RETURNS bigint LANGUAGE plpgsql AS $$
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

  CREATE FUNCTION tell_gone() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify(left('rockpool ' || current_schema(), 63), '{"from":"","signals":[{"kind":"gone"}]}');
    RETURN NULL;
  END $$;
  CREATE TRIGGER gone_told AFTER INSERT ON gone FOR EACH STATEMENT EXECUTE FUNCTION tell_gone();
`
