-- Begins a turn: one per lane at a time, by the owner of the lane, in the order of the messages. Returns false when it may not begin.
CREATE OR REPLACE FUNCTION begin_turn(
  me text, its_id text, its_lane text, its_agent text, its_kind text, its_owner text, inputs bigint[], at bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE l lane;
BEGIN
  PERFORM fence(me);
  l := locked_lane(its_lane);
  IF me IS NOT NULL AND l.owner IS NOT NULL AND l.owner <> me THEN RETURN false; END IF;
  -- Earlier messages that wait for another member go first.
  PERFORM 1 FROM inbox WHERE lane = its_lane AND state = 'waiting' AND id < (SELECT min(input) FROM unnest(inputs) AS input)
    AND handed_to IS DISTINCT FROM me;
  IF FOUND AND me IS NOT NULL THEN RETURN false; END IF;
  INSERT INTO turn (id, lane, agent, kind, state, owner, started_at)
    VALUES (its_id, its_lane, its_agent, its_kind, 'running', its_owner, at) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    -- The reply to an earlier call with the same turn may have been lost.
    RETURN EXISTS (SELECT 1 FROM turn WHERE id = its_id AND state = 'running');
  END IF;
  IF claim_inputs(its_id, inputs) THEN RETURN true; END IF;
  DELETE FROM turn WHERE id = its_id;
  RETURN false;
END $$;

-- Adds inputs to a running turn. Returns false when the turn has ended or an input is taken.
CREATE OR REPLACE FUNCTION join_turn(me text, its_turn text, inputs bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fence(me);
  PERFORM lock_lanes(inputs);
  PERFORM 1 FROM turn WHERE id = its_turn AND state = 'running' FOR UPDATE;
  RETURN FOUND AND claim_inputs(its_turn, inputs);
END $$;

-- Ends a turn and its inputs, and deletes the system events and overheard messages that it has used. Returns 'done'; 'again' when
-- an earlier call did it; 'lost' when the turn belongs to another member now.
CREATE OR REPLACE FUNCTION finish_turn(
  me text, its_turn text, at bigint, outcome jsonb, unanswered bigint[], events bigint[], heard_group text, heard_to bigint
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t turn;
BEGIN
  PERFORM fence(me);
  PERFORM 1 FROM lane WHERE key = (SELECT lane FROM turn WHERE id = its_turn) FOR UPDATE;
  SELECT * INTO t FROM turn WHERE id = its_turn FOR UPDATE;
  IF NOT FOUND OR t.end_kind = 'lost' OR (me IS NOT NULL AND t.owner <> me) THEN RETURN 'lost'; END IF;
  IF t.state = 'done' THEN RETURN 'again'; END IF;
  UPDATE turn SET state = 'done', ended_at = at, end_kind = outcome->>'end', session_id = outcome->>'sessionId',
    model = outcome->>'model', input = coalesce((outcome->>'input')::bigint, 0),
    output = coalesce((outcome->>'output')::bigint, 0), cache_read = coalesce((outcome->>'cacheRead')::bigint, 0),
    cache_write = coalesce((outcome->>'cacheWrite')::bigint, 0), cost_usd = coalesce((outcome->>'costUsd')::float8, 0),
    context_tokens = (outcome->>'contextTokens')::bigint, compactions = coalesce((outcome->>'compactions')::int, 0)
  WHERE id = its_turn;
  IF cardinality(unanswered) > 0 THEN
    UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ANY (unanswered) AND state = 'running';
  END IF;
  UPDATE inbox SET record = '{}', state = CASE outcome->>'end'
    WHEN 'completed' THEN 'answered' WHEN 'interrupted' THEN 'stopped' ELSE 'failed' END
  WHERE turn_id = its_turn AND state = 'running';
  IF cardinality(events) > 0 THEN DELETE FROM system_event WHERE id = ANY (events); END IF;
  IF heard_group IS NOT NULL THEN DELETE FROM overheard WHERE group_key = heard_group AND id <= heard_to; END IF;
  RETURN 'done';
END $$;

-- Ends a turn and adds its deliveries: one row for each of them, with its place among them, or one row without a place. When an
-- earlier call added a delivery, its row has no number.
CREATE OR REPLACE FUNCTION end_turn(
  me text, its_turn text, at bigint, outcome jsonb, unanswered bigint[], events bigint[], heard_group text, heard_to bigint,
  deliveries jsonb, at_once boolean
) RETURNS TABLE (done text, nth bigint, new_seq bigint, mine boolean, marked boolean) LANGUAGE plpgsql AS $$
BEGIN
  done := finish_turn(me, its_turn, at, outcome, unanswered, events, heard_group, heard_to);
  IF done = 'lost' OR jsonb_array_length(deliveries) = 0 THEN RETURN NEXT; RETURN; END IF;
  RETURN QUERY SELECT done, given.place, added.new_seq, added.mine, added.marked
    FROM jsonb_array_elements(deliveries) WITH ORDINALITY AS given (its, place)
    LEFT JOIN LATERAL add_delivery(me, its->>'id', its->>'key', its->>'lane', its->>'via', its->>'record', at,
      at_once AND given.place = 1) AS added ON true;
END $$;

-- Ends a lost turn; its inputs wait again, with one more lost turn.
CREATE OR REPLACE FUNCTION release_turn(its_turn text, at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM lane WHERE key = (SELECT lane FROM turn WHERE id = its_turn) FOR UPDATE;
  UPDATE turn SET state = 'done', ended_at = at, end_kind = 'lost' WHERE id = its_turn AND state = 'running';
  UPDATE inbox SET state = 'waiting', turn_id = NULL, handed_to = NULL, lost_turns = lost_turns + 1
    WHERE turn_id = its_turn AND state = 'running';
END $$;

-- Turns of dead members, and turns of the caller in lanes where it has no work. The caller becomes the owner of their lanes, so
-- that no other member begins a turn before the caller has decided what happens to the messages. A lane that another member owns
-- stays with it: it waits for this turn of the caller, too.
CREATE OR REPLACE FUNCTION lost_turns(me text, busy text[], began_before bigint)
RETURNS TABLE (id text, lane text, agent text, kind text, owner text, started_at bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM fence(me);
  RETURN QUERY
    WITH gone AS (
      SELECT t.id, t.lane, t.agent, t.kind, t.owner, t.started_at FROM turn AS t JOIN lane AS l ON l.key = t.lane
      WHERE t.state = 'running' AND (
        (t.owner <> me AND (l.owner IS NULL OR l.owner = me) AND NOT EXISTS (SELECT 1 FROM member WHERE member.id = t.owner))
        OR (t.owner = me AND t.started_at < began_before AND t.lane <> ALL (busy)))
      ORDER BY l.key FOR UPDATE OF l SKIP LOCKED
    ), held AS (UPDATE lane SET owner = me FROM gone WHERE lane.key = gone.lane AND lane.owner IS NULL RETURNING lane.key)
    SELECT gone.* FROM gone;
END $$;

-- Releases idle and failed lanes, and takes as many others as there is room for. Returns every input of the caller's lanes that the
-- caller has not received yet, in order, up to an input that is pinned to another living member.
CREATE OR REPLACE FUNCTION take_lanes(me text, room int, is_server boolean, idle text[], failed text[])
RETURNS TABLE (
  id bigint, key text, lane text, agent text, accepted_at bigint, lost_turns int, record text, moved boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE moved_lanes text[];
BEGIN
  PERFORM fence(me);
  -- A member, perhaps another one, retries after a second.
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
        -- A lost turn of another member is resolved first.
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
