// Claude's own transcripts, as the Agent SDK hands them over; the same table that rockpool/sdk-session-store makes.

export const claudeTables = `
  CREATE TABLE IF NOT EXISTS claude_entry (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project text NOT NULL, session text NOT NULL, subpath text NOT NULL,
    uuid text, entry text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX IF NOT EXISTS claude_entry_place ON claude_entry (project, session, subpath, seq);
  CREATE UNIQUE INDEX IF NOT EXISTS claude_entry_uuid ON claude_entry (project, session, subpath, uuid)
    WHERE uuid IS NOT NULL;
`
