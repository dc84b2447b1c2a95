-- Every function that changes inputs locks their lanes first.
CREATE OR REPLACE FUNCTION lock_lanes(of_inputs bigint[]) RETURNS void LANGUAGE sql AS $$
  SELECT 1 FROM lane WHERE key IN (SELECT lane FROM inbox WHERE id = ANY (of_inputs)) ORDER BY key FOR UPDATE
$$;

-- Accepts a message and numbers it under the lock of its lane. A member with room (has_room) also takes the lane when the lane has
-- no owner and no other living member served it last. Returns no row when the message was accepted before.
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
  -- Earlier messages that a dead member left behind go first.
  IF holder = me AND (
    EXISTS (SELECT 1 FROM inbox WHERE lane = its_lane AND state = 'waiting' AND id < new_id AND handed_to IS DISTINCT FROM me)
    OR EXISTS (SELECT 1 FROM turn WHERE lane = its_lane AND state = 'running' AND owner <> me)
  ) THEN holder := NULL; END IF;
  IF holder = me THEN UPDATE inbox SET handed_to = me WHERE id = new_id; END IF;
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
