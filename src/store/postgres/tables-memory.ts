// The notes of agents, for all machines. A note has a revision number; a writer passes the revision that it read.

export const memoryTables = `
  CREATE TABLE memory_file (
    agent text NOT NULL,
    /* MEMORY.md, memory/2026-11-15.md; agent/memory/… for those in the folder of the agent itself. */
    name text NOT NULL,
    revision bigint NOT NULL,
    /* None: it was removed, and machines that have it are to know. */
    body bytea,
    at bigint NOT NULL,
    machine text NOT NULL,
    PRIMARY KEY (agent, name)
  );

  /* Writes a note if it still has the revision that was read (0: there is none). Returns nothing on a conflict. */
  CREATE FUNCTION put_memory(whose text, its_name text, known bigint, its_body bytea, its_at bigint, of_machine text)
  RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE given bigint;
  BEGIN
    IF known = 0 THEN
      INSERT INTO memory_file VALUES (whose, its_name, 1, its_body, its_at, of_machine)
        ON CONFLICT (agent, name) DO NOTHING RETURNING revision INTO given;
    ELSE
      UPDATE memory_file SET revision = known + 1, body = its_body, at = its_at, machine = of_machine
        WHERE agent = whose AND name = its_name AND revision = known RETURNING revision INTO given;
    END IF;
    RETURN given;
  END $$;

  CREATE FUNCTION tell_memory() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_notify(left('rockpool ' || current_schema(), 63), '{"from":"","signals":[{"kind":"memory"}]}');
    RETURN NULL;
  END $$;
  CREATE TRIGGER memory_told AFTER INSERT OR UPDATE ON memory_file
    FOR EACH STATEMENT EXECUTE FUNCTION tell_memory();
`

/* Which version of each machine went in last: one that died before it had the answer knows that it was heard. */
export const memoryStamps = `
  ALTER TABLE memory_file ADD COLUMN stamps jsonb NOT NULL DEFAULT '{}';
  DROP FUNCTION put_memory;

  /* Writes a note if it still has the revision that was read (0: there is none). Nothing: somebody was faster. Revisions are
     times: after a database was put back from a backup none is given out for the second time. */
  CREATE FUNCTION put_memory(
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
`
