-- Rows that were written before have no checksum and are not checked.
ALTER TABLE session ADD COLUMN checksum INTEGER;
ALTER TABLE session_bulk ADD COLUMN checksum INTEGER;
