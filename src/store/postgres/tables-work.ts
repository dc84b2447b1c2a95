// Inbox, lanes, turns and outbox, with the steps that touch several of them as functions: one round trip, one
// transaction. Whoever changes inputs locks their lane first, so nobody waits in a circle.

export const workTables = `
  CREATE TABLE lane (
    key text PRIMARY KEY,
    owner text REFERENCES member ON DELETE SET NULL,
    /* Who served it last: a Claude process may be warm there. */
    home text,
    waiting int NOT NULL DEFAULT 0,
    ready_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX lane_ready ON lane (ready_at) WHERE owner IS NULL AND waiting > 0;
  CREATE INDEX lane_owner ON lane (owner) WHERE owner IS NOT NULL;

  CREATE TABLE inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    lane text NOT NULL,
    agent text NOT NULL,
    state text NOT NULL,
    accepted_at bigint NOT NULL,
    lost_turns int NOT NULL DEFAULT 0,
    turn_id text,
    /* The process whose caller waits for the answer: it takes this input itself. */
    pin text,
    handed_to text,
    record text NOT NULL
  );
  CREATE INDEX inbox_waiting ON inbox (lane, id) WHERE state = 'waiting';
  CREATE INDEX inbox_turn ON inbox (turn_id) WHERE state = 'running';
  CREATE INDEX inbox_over ON inbox (accepted_at) WHERE state NOT IN ('waiting', 'running');

  CREATE FUNCTION count_waiting() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE delta int := 0;
  BEGIN
    IF TG_OP <> 'INSERT' AND OLD.state = 'waiting' THEN delta := delta - 1; END IF;
    IF TG_OP <> 'DELETE' AND NEW.state = 'waiting' THEN delta := delta + 1; END IF;
    IF delta <> 0 THEN
      UPDATE lane SET waiting = waiting + delta,
        ready_at = CASE WHEN waiting = 0 THEN clock_timestamp() ELSE ready_at END
      WHERE key = coalesce(NEW.lane, OLD.lane);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER inbox_counted AFTER INSERT OR DELETE OR UPDATE OF state ON inbox
    FOR EACH ROW EXECUTE FUNCTION count_waiting();

  CREATE FUNCTION lock_lanes(of_inputs bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT 1 FROM lane WHERE key IN (SELECT lane FROM inbox WHERE id = ANY (of_inputs)) ORDER BY key FOR UPDATE
  $$;

  CREATE TABLE turn (
    id text PRIMARY KEY,
    lane text NOT NULL,
    agent text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    end_kind text,
    session_id text,
    model text,
    input bigint NOT NULL DEFAULT 0,
    output bigint NOT NULL DEFAULT 0,
    cache_read bigint NOT NULL DEFAULT 0,
    cache_write bigint NOT NULL DEFAULT 0,
    cost_usd double precision NOT NULL DEFAULT 0,
    context_tokens bigint,
    compactions int NOT NULL DEFAULT 0
  );
  /* One turn at a time for each session, over all machines. */
  CREATE UNIQUE INDEX turn_running ON turn (lane) WHERE state = 'running';
  CREATE INDEX turn_lane ON turn (lane, started_at) WHERE state = 'done';
  CREATE INDEX turn_started ON turn (started_at) WHERE state = 'done';

  CREATE FUNCTION join_turn(me text, its_turn text, inputs bigint[]) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM fence(me);
    PERFORM lock_lanes(inputs);
    PERFORM 1 FROM turn WHERE id = its_turn AND state = 'running' FOR UPDATE;
    RETURN FOUND AND claim_inputs(its_turn, inputs);
  END $$;

  CREATE FUNCTION release_turn(its_turn text, at bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM 1 FROM lane WHERE key = (SELECT lane FROM turn WHERE id = its_turn) FOR UPDATE;
    UPDATE turn SET state = 'done', ended_at = at, end_kind = 'lost' WHERE id = its_turn AND state = 'running';
    UPDATE inbox SET state = 'waiting', turn_id = NULL, handed_to = NULL, lost_turns = lost_turns + 1
      WHERE turn_id = its_turn AND state = 'running';
  END $$;

  CREATE FUNCTION end_inputs(inputs bigint[], how text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM lock_lanes(inputs);
    UPDATE inbox SET state = how, record = '{}' WHERE id = ANY (inputs);
  END $$;

  CREATE TABLE outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    idempotency_key text NOT NULL UNIQUE,
    lane text NOT NULL,
    state text NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    resent boolean NOT NULL DEFAULT false,
    not_before bigint NOT NULL DEFAULT 0,
    reason text,
    message_ids text NOT NULL DEFAULT '[]',
    updated_at bigint NOT NULL,
    record text NOT NULL,
    /* Which account it goes through: channel|account. */
    via text NOT NULL,
    owner text REFERENCES member ON DELETE SET NULL,
    handed boolean NOT NULL DEFAULT false
  );
  CREATE INDEX outbox_open ON outbox (lane, seq) WHERE state IN ('queued', 'attempting', 'retry', 'unknown');
  CREATE INDEX outbox_nobodys ON outbox (seq)
    WHERE owner IS NULL AND state IN ('queued', 'attempting', 'retry', 'unknown');
  CREATE INDEX outbox_owner ON outbox (owner) WHERE state IN ('queued', 'attempting', 'retry', 'unknown');
  CREATE INDEX outbox_over ON outbox (updated_at) WHERE state IN ('sent', 'dead');

  CREATE TABLE overheard (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, group_key text NOT NULL, key text NOT NULL UNIQUE, record text NOT NULL
  );
  CREATE INDEX overheard_group ON overheard (group_key, id);
  CREATE TABLE system_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_key text NOT NULL, text text NOT NULL, at bigint NOT NULL
  );
  CREATE INDEX system_event_session ON system_event (session_key, id);

  /* A turn is over: its inputs are answered, its replies queued, what it heard is forgotten. No row: it is not ours. */
  CREATE FUNCTION finish_turn(
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
    UPDATE inbox SET state = 'waiting', turn_id = NULL WHERE id = ANY (unanswered) AND state = 'running';
    UPDATE inbox SET record = '{}', state = CASE outcome->>'end'
      WHEN 'completed' THEN 'answered' WHEN 'interrupted' THEN 'stopped' ELSE 'failed' END
    WHERE turn_id = its_turn AND state = 'running';
    DELETE FROM system_event WHERE id = ANY (events);
    DELETE FROM overheard WHERE group_key = heard_group AND id <= heard_to;
    RETURN 'done';
  END $$;

  /* Turns that a member left when it was buried, and turns of ours that we no longer know of; their lanes are ours now, so
     that nobody begins there before it is decided what becomes of their messages. */
  CREATE FUNCTION lost_turns(me text, busy text[], began_before bigint)
  RETURNS TABLE (id text, lane text, agent text, kind text, owner text, started_at bigint) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  BEGIN
    PERFORM fence(me);
    RETURN QUERY
      WITH gone AS (
        SELECT t.id, t.lane, t.agent, t.kind, t.owner, t.started_at FROM turn AS t JOIN lane AS l ON l.key = t.lane
        WHERE t.state = 'running' AND (l.owner IS NULL OR l.owner = me) AND (
          (t.owner <> me AND NOT EXISTS (SELECT 1 FROM member WHERE member.id = t.owner))
          OR (t.owner = me AND t.started_at < began_before AND t.lane <> ALL (busy)))
        ORDER BY l.key FOR UPDATE OF l SKIP LOCKED
      ), held AS (UPDATE lane SET owner = me FROM gone WHERE lane.key = gone.lane RETURNING lane.key)
      SELECT gone.* FROM gone;
  END $$;
`
