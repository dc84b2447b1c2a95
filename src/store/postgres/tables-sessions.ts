// Session rows and our transcripts. Entries are text: jsonb would change numbers and refuse what JSON allows.

export const sessionTables = `
  CREATE TABLE session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent text NOT NULL,
    key text NOT NULL,
    session_id text NOT NULL,
    updated_at double precision NOT NULL,
    archived_at double precision,
    label text,
    spawned_by text,
    search_text text NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    entry text NOT NULL,
    bulk text,
    UNIQUE (agent, key)
  );
  CREATE INDEX session_live ON session (agent, updated_at DESC, key) WHERE archived_at IS NULL;
  CREATE INDEX session_archived ON session (agent, updated_at DESC, key) WHERE archived_at IS NOT NULL;
  CREATE INDEX session_by_session_id ON session (agent, session_id text_pattern_ops);
  CREATE INDEX session_by_label ON session (agent, label) WHERE label IS NOT NULL;

  /* How many there are, in sixteen parts so that new sessions do not wait for each other. */
  CREATE TABLE session_count (
    agent text NOT NULL, archived boolean NOT NULL, part int NOT NULL, n bigint NOT NULL,
    PRIMARY KEY (agent, archived, part)
  );
  CREATE FUNCTION count_session(whose text, is_archived boolean, of_key text, delta int) RETURNS void
  LANGUAGE sql AS $$
    INSERT INTO session_count VALUES (whose, is_archived, abs(hashtext(of_key)) % 16, delta)
    ON CONFLICT (agent, archived, part) DO UPDATE SET n = session_count.n + delta
  $$;
  CREATE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM count_session(OLD.agent, OLD.archived_at IS NOT NULL, OLD.key, -1); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM count_session(NEW.agent, NEW.archived_at IS NOT NULL, NEW.key, 1); END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER session_made AFTER INSERT OR DELETE ON session
    FOR EACH ROW EXECUTE FUNCTION count_sessions();
  CREATE TRIGGER session_moved AFTER UPDATE ON session
    FOR EACH ROW WHEN ((OLD.archived_at IS NULL) <> (NEW.archived_at IS NULL))
    EXECUTE FUNCTION count_sessions();

  /* Writes a row if it still has the revision that was read (0: there is none). Returns false on a conflict. */
  CREATE FUNCTION put_session(
    me text, whose text, its_key text, known bigint, its_id text, changed double precision,
    archived double precision, its_label text, parent text, words text, lean text, its_bulk text
  ) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM fence(me);
    IF known = 0 THEN
      INSERT INTO session (agent, key, session_id, updated_at, archived_at, label, spawned_by, search_text, entry, bulk)
      VALUES (whose, its_key, its_id, changed, archived, its_label, parent, words, lean, its_bulk)
      ON CONFLICT (agent, key) DO NOTHING;
    ELSE
      UPDATE session SET session_id = its_id, updated_at = changed, archived_at = archived, label = its_label,
        spawned_by = parent, search_text = words, revision = known + 1, entry = lean, bulk = its_bulk
      WHERE agent = whose AND key = its_key AND revision = known;
    END IF;
    RETURN FOUND;
  END $$;

  CREATE TABLE transcript (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent text NOT NULL,
    /* As the file of it is called on a machine that keeps files. */
    name text NOT NULL,
    session_id text NOT NULL,
    topic_id text,
    header text NOT NULL,
    leaf_id text,
    entries bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    changed_at bigint NOT NULL,
    reason text,
    archived_at bigint,
    UNIQUE (agent, name)
  );
  CREATE INDEX transcript_session ON transcript (agent, session_id);
  CREATE TABLE transcript_entry (
    transcript bigint NOT NULL REFERENCES transcript ON DELETE CASCADE,
    seq bigint NOT NULL,
    id text NOT NULL,
    parent_id text,
    line text NOT NULL,
    PRIMARY KEY (transcript, seq)
  );
  CREATE INDEX transcript_entry_id ON transcript_entry (transcript, id);

  /* Adds lines below the leaf; the row's lock makes appends of one transcript follow each other. */
  CREATE FUNCTION append_entries(me text, whose bigint, ids text[], lines text[], at bigint) RETURNS text
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
`
