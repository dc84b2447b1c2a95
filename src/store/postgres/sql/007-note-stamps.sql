-- The last version that each machine wrote: a machine that lost the reply to its write can see whether the write arrived.

ALTER TABLE memory_file ADD COLUMN stamps jsonb NOT NULL DEFAULT '{}';
DROP FUNCTION IF EXISTS put_memory(text, text, bigint, bytea, bigint, text);
