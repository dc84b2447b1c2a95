-- What machines need to update their copies: which transcripts changed, and what was removed. A row holds the transaction that
-- changed it last. A reader asks for everything since the oldest transaction that was running at its last look.

ALTER TABLE transcript ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX transcript_changed ON transcript (changed);
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed := pg_current_xact_id();
  RETURN NEW;
END $$;
CREATE TRIGGER transcript_changes BEFORE UPDATE ON transcript FOR EACH ROW EXECUTE FUNCTION note_change();

-- The names of removed things, for machines that still have a copy.
CREATE TABLE gone (
  kind text NOT NULL, name text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  changed xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX gone_changed ON gone (kind, changed);
CREATE INDEX gone_at ON gone (at);
CREATE FUNCTION note_transcript_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gone (kind, name) VALUES ('transcript', OLD.id::text);
  DELETE FROM gone WHERE at < now() - interval '90 days';
  RETURN NULL;
END $$;
CREATE TRIGGER transcript_goes AFTER DELETE ON transcript FOR EACH ROW EXECUTE FUNCTION note_transcript_gone();
