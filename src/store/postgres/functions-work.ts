// SQL functions that divide work among members. Re-created in databases that have earlier versions of them.

export const workFunctions = `
  /* One that is gone: its lanes, leases and deliveries are nobody's from then on, and its coding sessions have no owner
     that lives. */
  CREATE OR REPLACE FUNCTION bury(its_id text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE m record;
  BEGIN
    DELETE FROM member WHERE id = its_id RETURNING about::json AS about INTO m;
    UPDATE record SET body = NULL WHERE kind = 'owner' AND body IS NOT NULL
      AND id = concat_ws(' ', m.about->>'domain', m.about->>'pid', m.about->>'startTime');
  END $$;

  /* Buries members that are gone: silent for three seconds with a free lock, or silent for fifteen. A server that has just
     been started was away for everybody: who was there before has a moment to come back. */
  CREATE OR REPLACE FUNCTION bury_dead(me text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE m record; buried int := 0;
  BEGIN
    PERFORM 1 FROM member WHERE id <> me AND seen_at < clock_timestamp() - interval '3 seconds';
    IF NOT FOUND THEN RETURN 0; END IF;
    /* Before any row, as everybody who writes records. */
    PERFORM lock_records();
    FOR m IN SELECT id, lock_no, seen_at FROM member
      WHERE id <> me AND seen_at < clock_timestamp() - interval '3 seconds'
        AND (seen_at > pg_postmaster_start_time() OR pg_postmaster_start_time() < clock_timestamp() - interval '5 seconds')
      FOR UPDATE SKIP LOCKED
    LOOP
      IF m.seen_at < clock_timestamp() - interval '15 seconds' OR pg_try_advisory_xact_lock(m.lock_no) THEN
        PERFORM bury(m.id);
        buried := buried + 1;
      END IF;
    END LOOP;
    RETURN buried;
  END $$;

  /* For one whose process is seen to be dead: its connection, which has the lock, ends in a moment. */
  CREATE OR REPLACE FUNCTION bury_if_unlocked(its_id text) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE m record;
  BEGIN
    PERFORM lock_records();
    SELECT lock_no INTO m FROM member WHERE id = its_id FOR UPDATE;
    IF FOUND AND NOT pg_try_advisory_xact_lock(m.lock_no) THEN RETURN false; END IF;
    PERFORM bury(its_id);
    RETURN true;
  END $$;

  /* Numbers the message under its lane's lock. A member with room takes the lane at once if nobody has it and nobody
     else is warm for it. No row: it was accepted before. */
  CREATE OR REPLACE FUNCTION accept_input(
    me text, has_room boolean, its_key text, its_lane text, its_agent text, at bigint, its_pin text, its_record text
  ) RETURNS TABLE (new_id bigint, holder text, moved boolean) LANGUAGE plpgsql AS $$
  DECLARE l lane; claims boolean;
  BEGIN
    PERFORM 1 FROM inbox WHERE key = its_key;
    IF FOUND THEN RETURN; END IF;
    INSERT INTO lane (key) VALUES (its_lane) ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING * INTO l;
    INSERT INTO inbox (key, lane, agent, state, accepted_at, pin, record)
      VALUES (its_key, its_lane, its_agent, 'waiting', at, its_pin, its_record)
      ON CONFLICT (key) DO NOTHING RETURNING id INTO new_id;
    IF new_id IS NULL THEN RETURN; END IF;
    moved := false;
    holder := l.owner;
    IF me IS NULL THEN RETURN NEXT; RETURN; END IF;
    claims := l.owner IS NULL AND l.waiting = 0 AND has_room AND (its_pin = me OR l.home IS NULL OR l.home = me
      OR NOT EXISTS (SELECT 1 FROM member WHERE id = l.home));
    IF claims THEN
      moved := l.home IS NOT NULL AND l.home <> me;
      holder := me;
      UPDATE lane SET owner = me, home = me WHERE key = its_lane;
    END IF;
    /* What came before it, and was left by one that died, goes first. */
    IF holder = me AND (
      EXISTS (SELECT 1 FROM inbox WHERE lane = its_lane AND state = 'waiting' AND id < new_id AND handed_to IS DISTINCT FROM me)
      OR EXISTS (SELECT 1 FROM turn WHERE lane = its_lane AND state = 'running' AND owner <> me)
    ) THEN holder := NULL; END IF;
    IF holder = me THEN UPDATE inbox SET handed_to = me WHERE id = new_id; END IF;
    RETURN NEXT;
  END $$;

  /* All of them or none. Those that it has already, because an earlier answer was lost, count. */
  CREATE OR REPLACE FUNCTION claim_inputs(its_turn text, inputs bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE free int;
  BEGIN
    SELECT count(*) INTO free FROM inbox
      WHERE id = ANY (inputs) AND (state = 'waiting' OR (state = 'running' AND turn_id = its_turn));
    IF free <> coalesce(array_length(inputs, 1), 0) THEN RETURN false; END IF;
    UPDATE inbox SET state = 'running', turn_id = its_turn WHERE id = ANY (inputs);
    RETURN true;
  END $$;

  /* One turn of a lane at a time, run by the lane's owner, in the order of its messages. */
  CREATE OR REPLACE FUNCTION begin_turn(
    me text, its_id text, its_lane text, its_agent text, its_kind text, its_owner text, inputs bigint[], at bigint
  ) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE l lane;
  BEGIN
    PERFORM fence(me);
    INSERT INTO lane (key) VALUES (its_lane) ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING * INTO l;
    IF me IS NOT NULL AND l.owner IS NOT NULL AND l.owner <> me THEN RETURN false; END IF;
    /* Earlier messages that were given back go first. */
    PERFORM 1 FROM inbox WHERE lane = its_lane AND state = 'waiting' AND id < (SELECT min(input) FROM unnest(inputs) AS input)
      AND handed_to IS DISTINCT FROM me;
    IF FOUND AND me IS NOT NULL THEN RETURN false; END IF;
    INSERT INTO turn (id, lane, agent, kind, state, owner, started_at)
      VALUES (its_id, its_lane, its_agent, its_kind, 'running', its_owner, at) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      /* The answer to an earlier, equal request may have been lost on the way. */
      RETURN EXISTS (SELECT 1 FROM turn WHERE id = its_id AND state = 'running');
    END IF;
    IF claim_inputs(its_id, inputs) THEN RETURN true; END IF;
    DELETE FROM turn WHERE id = its_id;
    RETURN false;
  END $$;

  /* Gives up lanes where nothing is left to do here, and takes as many others as there is room for. Then every input of
     our lanes that we were not given yet, as far as it is ours to take: one whose caller waits elsewhere ends the row. */
  CREATE OR REPLACE FUNCTION take_lanes(me text, room int, is_server boolean, idle text[], failed text[])
  RETURNS TABLE (
    id bigint, key text, lane text, agent text, accepted_at bigint, lost_turns int, record text, moved boolean
  ) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE moved_lanes text[];
  BEGIN
    PERFORM fence(me);
    /* Somebody tries again in a moment, perhaps not here. */
    IF array_length(failed, 1) > 0 THEN
      PERFORM 1 FROM lane WHERE lane.key = ANY (failed) ORDER BY lane.key FOR UPDATE;
      UPDATE inbox SET handed_to = NULL WHERE inbox.lane = ANY (failed) AND state = 'waiting' AND handed_to = me;
      UPDATE lane SET owner = NULL, home = NULL, ready_at = clock_timestamp() + interval '1 second'
        WHERE lane.key = ANY (failed) AND owner = me;
    END IF;
    IF array_length(idle, 1) > 0 THEN
      UPDATE lane SET owner = NULL WHERE lane.key IN (SELECT l.key FROM lane AS l WHERE l.key = ANY (idle) AND l.owner = me
        AND NOT EXISTS (SELECT 1 FROM inbox AS i WHERE i.lane = l.key AND i.state = 'waiting' AND i.handed_to = me)
        ORDER BY l.key FOR UPDATE SKIP LOCKED);
    END IF;
    IF room > 0 THEN
      WITH ready AS (
        SELECT l.key, l.home FROM lane AS l
        CROSS JOIN LATERAL (SELECT pin FROM inbox AS i WHERE i.lane = l.key AND i.state = 'waiting' ORDER BY i.id LIMIT 1) AS head
        WHERE l.owner IS NULL AND l.waiting > 0 AND l.ready_at <= clock_timestamp()
          AND (is_server OR head.pin = me)
          AND (head.pin IS NULL OR head.pin = me OR NOT EXISTS (SELECT 1 FROM member WHERE member.id = head.pin))
          AND (head.pin = me OR l.home IS NULL OR l.home = me OR l.ready_at < clock_timestamp() - interval '150 milliseconds'
            OR NOT EXISTS (SELECT 1 FROM member WHERE member.id = l.home))
          AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.lane = l.key AND t.state = 'running')
        ORDER BY l.ready_at LIMIT room FOR UPDATE OF l SKIP LOCKED
      ), taken AS (
        UPDATE lane SET owner = me, home = me FROM ready WHERE lane.key = ready.key
        RETURNING lane.key, ready.home IS NOT NULL AND ready.home <> me AS has_moved
      ) SELECT array_agg(taken.key) FILTER (WHERE has_moved) INTO moved_lanes FROM taken;
    END IF;
    RETURN QUERY
      WITH mine AS (
        SELECT i.id FROM lane AS l JOIN inbox AS i ON i.lane = l.key AND i.state = 'waiting'
        WHERE l.owner = me AND i.handed_to IS DISTINCT FROM me
          /* A turn that was lost gives its inputs back first. */
          AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.lane = l.key AND t.state = 'running' AND t.owner <> me)
          AND NOT EXISTS (
          SELECT 1 FROM inbox AS earlier JOIN member ON member.id = earlier.pin
          WHERE earlier.lane = l.key AND earlier.state = 'waiting' AND earlier.id <= i.id AND earlier.pin <> me)
      ), given AS (
        UPDATE inbox SET handed_to = me FROM mine WHERE inbox.id = mine.id
        RETURNING inbox.id, inbox.key, inbox.lane, inbox.agent, inbox.accepted_at, inbox.lost_turns, inbox.record
      )
      SELECT given.*, coalesce(given.lane = ANY (moved_lanes), false) FROM given ORDER BY given.id;
  END $$;
`

export const deliveryFunctions = `
  /* One delivery. It goes to whoever sends for its lane on that platform already, so that order is kept; else to the one who
     adds it, if that member reaches the account. Nobody is given it before he was given all that is before it. */
  CREATE OR REPLACE FUNCTION add_delivery(
    me text, its_id text, its_key text, its_lane text, its_via text, its_record text, at bigint, at_once boolean
  ) RETURNS TABLE (new_seq bigint, mine boolean, marked boolean) LANGUAGE plpgsql AS $$
  DECLARE before record; is_first boolean; sender text;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('outbox'), hashtext(its_lane));
    SELECT owner INTO before FROM outbox WHERE lane = its_lane AND via = its_via AND state IN ('queued', 'attempting', 'retry', 'unknown')
      ORDER BY owner NULLS LAST LIMIT 1;
    is_first := NOT FOUND;
    IF is_first THEN
      SELECT id INTO sender FROM member WHERE id = me AND serves AND its_via = ANY (reach);
    ELSE
      sender := before.owner;
    END IF;
    marked := at_once AND (me IS NULL OR (is_first AND sender = me));
    mine := me IS NULL OR (coalesce(sender = me, false) AND NOT EXISTS (
      SELECT 1 FROM outbox WHERE lane = its_lane AND via = its_via AND state IN ('queued', 'attempting', 'retry', 'unknown')
        AND (owner IS DISTINCT FROM me OR NOT handed)));
    INSERT INTO outbox (id, idempotency_key, lane, state, attempts, updated_at, record, via, owner, handed)
      VALUES (its_id, its_key, its_lane, CASE WHEN marked THEN 'attempting' ELSE 'queued' END,
        CASE WHEN marked THEN 1 ELSE 0 END, at, its_record, its_via, sender, mine AND me IS NOT NULL)
      ON CONFLICT DO NOTHING RETURNING seq INTO new_seq;
    IF new_seq IS NOT NULL THEN RETURN NEXT; END IF;
  END $$;
`
