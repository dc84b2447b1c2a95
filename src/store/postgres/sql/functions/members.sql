-- Refuses the writes of a member whose row was deleted. Deleting the row waits for its running writes. The lock lasts until the end
-- of the transaction, so only the first call of a transaction takes it.
CREATE OR REPLACE FUNCTION fence(me text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF me IS NULL OR me = current_setting('rockpool.fenced', true) THEN RETURN true; END IF;
  PERFORM 1 FROM member WHERE id = me FOR KEY SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'member % was removed', me USING ERRCODE = 'RP001'; END IF;
  PERFORM set_config('rockpool.fenced', me, true);
  RETURN true;
END $$;

-- Removes a dead member. A trigger releases its lanes and deliveries, a foreign key its leases; its coding sessions lose their owner.
CREATE OR REPLACE FUNCTION bury(its_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE m record;
BEGIN
  DELETE FROM member WHERE id = its_id RETURNING about::json AS about INTO m;
  UPDATE record SET body = NULL WHERE kind = 'owner' AND body IS NOT NULL
    AND id = concat_ws(' ', m.about->>'domain', m.about->>'pid', m.about->>'startTime');
END $$;

-- Removes dead members: no heartbeat for 3 seconds and a free lock, or no heartbeat for 15 seconds. For 5 seconds after a start
-- of the server, members from before the start are spared, because they could not send a heartbeat.
CREATE OR REPLACE FUNCTION bury_dead(me text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE m record; removed int := 0;
BEGIN
  PERFORM 1 FROM member WHERE id <> me AND seen_at < clock_timestamp() - interval '3 seconds';
  IF NOT FOUND THEN RETURN 0; END IF;
  -- Every writer of records takes this lock before it locks a row.
  PERFORM lock_records();
  FOR m IN SELECT id, lock_no, seen_at FROM member
    WHERE id <> me AND seen_at < clock_timestamp() - interval '3 seconds'
      AND (seen_at > pg_postmaster_start_time() OR pg_postmaster_start_time() < clock_timestamp() - interval '5 seconds')
    FOR UPDATE SKIP LOCKED
  LOOP
    IF m.seen_at < clock_timestamp() - interval '15 seconds' OR pg_try_advisory_xact_lock(m.lock_no) THEN
      PERFORM bury(m.id);
      removed := removed + 1;
    END IF;
  END LOOP;
  RETURN removed;
END $$;

-- Removes a member whose process is known to be dead. Returns false while its connection still holds its lock.
CREATE OR REPLACE FUNCTION bury_if_unlocked(its_id text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE m record;
BEGIN
  PERFORM lock_records();
  SELECT lock_no INTO m FROM member WHERE id = its_id FOR UPDATE;
  IF FOUND AND NOT pg_try_advisory_xact_lock(m.lock_no) THEN RETURN false; END IF;
  PERFORM bury(its_id);
  RETURN true;
END $$;
