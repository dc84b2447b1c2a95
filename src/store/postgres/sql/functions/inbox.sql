-- Every function that changes inputs locks their lanes first.
CREATE OR REPLACE FUNCTION lock_lanes(of_inputs bigint[]) RETURNS void LANGUAGE sql AS $$
  SELECT 1 FROM lane WHERE key IN (SELECT lane FROM inbox WHERE id = ANY (of_inputs)) ORDER BY key FOR UPDATE
$$;

-- The row of a lane, locked. Makes it when there is none; an existing row is not written.
CREATE OR REPLACE FUNCTION locked_lane(its_key text) RETURNS lane LANGUAGE plpgsql AS $$
DECLARE l lane;
BEGIN
  SELECT * INTO l FROM lane WHERE key = its_key FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO lane (key) VALUES (its_key) ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING * INTO l;
  END IF;
  RETURN l;
END $$;

-- Accepts a message and numbers it under the lock of its lane. A member with room (has_room) also takes the lane when the lane has
-- no owner, no other living member served it last, and no turn of another member is unfinished in it: only the one that released
-- the lane knows that this turn is lost. Returns no row when the message was accepted before.
CREATE OR REPLACE FUNCTION accept_input(
  me text, has_room boolean, its_key text, its_lane text, its_agent text, at bigint, its_pin text, its_record text
) RETURNS TABLE (new_id bigint, holder text, moved boolean) LANGUAGE plpgsql AS $$
DECLARE l lane; claims boolean;
BEGIN
  PERFORM 1 FROM inbox WHERE key = its_key;
  IF FOUND THEN RETURN; END IF;
  l := locked_lane(its_lane);
  claims := coalesce(me IS NOT NULL AND l.owner IS NULL AND l.waiting = 0 AND has_room AND (its_pin = me
    OR l.home IS NULL OR l.home = me OR NOT EXISTS (SELECT 1 FROM member WHERE id = l.home)), false);
  IF claims THEN
    -- Locked: a member that leaves sees this lane and releases it.
    PERFORM 1 FROM member WHERE id = me FOR KEY SHARE;
    claims := FOUND;
  END IF;
  holder := CASE WHEN claims THEN me ELSE l.owner END;
  moved := claims AND l.home IS NOT NULL AND l.home <> me;
  IF holder = me AND EXISTS (SELECT 1 FROM turn WHERE lane = its_lane AND state = 'running' AND owner <> me) THEN
    holder := NULL;
    claims := false;
  END IF;
  -- Earlier messages that a dead member left behind go first.
  IF holder = me AND EXISTS (SELECT 1 FROM inbox WHERE lane = its_lane AND state = 'waiting' AND handed_to IS DISTINCT FROM me)
    THEN holder := NULL; END IF;
  INSERT INTO inbox (key, lane, agent, state, accepted_at, pin, handed_to, record)
    VALUES (its_key, its_lane, its_agent, 'waiting', at, its_pin, CASE WHEN holder = me THEN me END, its_record)
    ON CONFLICT (key) DO NOTHING RETURNING id INTO new_id;
  IF new_id IS NULL THEN RETURN; END IF;
  IF claims THEN UPDATE lane SET owner = me, home = me WHERE key = its_lane; END IF;
  RETURN NEXT;
END $$;

-- Claims all inputs for a turn, or none. Inputs that the turn has already (the reply to an earlier call was lost) count as claimed.
CREATE OR REPLACE FUNCTION claim_inputs(its_turn text, inputs bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE free int;
BEGIN
  SELECT count(*) INTO free FROM inbox
    WHERE id = ANY (inputs) AND (state = 'waiting' OR (state = 'running' AND turn_id = its_turn));
  IF free <> coalesce(array_length(inputs, 1), 0) THEN RETURN false; END IF;
  UPDATE inbox SET state = 'running', turn_id = its_turn WHERE id = ANY (inputs);
  RETURN true;
END $$;

-- Ends inputs without a turn; their text is no longer needed, unless somebody may ask for them again.
CREATE OR REPLACE FUNCTION end_inputs(inputs bigint[], how text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_lanes(inputs);
  UPDATE inbox SET state = how, record = CASE how WHEN 'given-up' THEN record ELSE '{}' END WHERE id = ANY (inputs);
END $$;
