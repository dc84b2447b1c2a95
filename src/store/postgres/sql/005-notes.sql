-- The notes of agents. A note has a revision number; a writer passes the revision that it read.

CREATE TABLE memory_file (
  agent text NOT NULL,
  -- MEMORY.md, memory/2026-11-15.md; agent/memory/… for notes in the agent's own folder.
  name text NOT NULL,
  revision bigint NOT NULL,
  -- Null: the note was removed. The row stays so that the other machines remove it too.
  body bytea,
  at bigint NOT NULL,
  machine text NOT NULL,
  PRIMARY KEY (agent, name)
);

CREATE FUNCTION tell_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(left('rockpool ' || current_schema(), 63), '{"from":"","signals":[{"kind":"memory"}]}');
  RETURN NULL;
END $$;
CREATE TRIGGER memory_told AFTER INSERT OR UPDATE ON memory_file
  FOR EACH STATEMENT EXECUTE FUNCTION tell_memory();
