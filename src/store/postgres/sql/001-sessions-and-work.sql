-- Members, people, sessions, transcripts, and the inbox, lanes, turns and outbox. The steps that touch several tables are
-- functions (functions/): one round trip, one transaction. A writer of inputs locks their lane first, which avoids deadlocks.

CREATE TABLE member (
  id text PRIMARY KEY,
  machine text NOT NULL,
  labels text[] NOT NULL DEFAULT '{}',
  -- Takes lanes and deliveries. False for a command that runs one operation.
  serves boolean NOT NULL,
  -- The accounts that it can send through: channel|account.
  reach text[] NOT NULL DEFAULT '{}',
  lock_no bigint NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  about text NOT NULL DEFAULT '{}'
);

CREATE TABLE lease (
  name text PRIMARY KEY,
  owner text NOT NULL REFERENCES member ON DELETE CASCADE,
  taken_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lease_owner ON lease (owner);

CREATE TABLE paired_person (
  channel text NOT NULL, account text NOT NULL, sender text NOT NULL,
  name text, owner boolean NOT NULL, approved_at bigint NOT NULL,
  PRIMARY KEY (channel, account, sender)
);
CREATE TABLE pairing_request (
  channel text NOT NULL, account text NOT NULL, sender text NOT NULL,
  code text NOT NULL UNIQUE, name text, asked_at bigint NOT NULL,
  PRIMARY KEY (channel, account, sender)
);
CREATE TABLE sent_message (
  channel text NOT NULL, account text NOT NULL, chat text NOT NULL, message text NOT NULL,
  agent text NOT NULL, session_key text NOT NULL, session_id text, entry_id text, sent_at bigint NOT NULL,
  PRIMARY KEY (channel, account, chat, message)
);
CREATE INDEX sent_message_at ON sent_message (sent_at);
CREATE TABLE answer (
  who text NOT NULL, operation text NOT NULL, key text NOT NULL,
  input_hash text NOT NULL, at bigint NOT NULL, output text,
  PRIMARY KEY (who, operation, key)
);
CREATE INDEX answer_at ON answer (at);
-- Events that are too long for NOTIFY. Deleted after a minute.
CREATE UNLOGGED TABLE event_body (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, at timestamptz NOT NULL DEFAULT now()
);

-- Claude's own transcripts, as the Agent SDK writes them. rockpool/sdk-session-store makes the same table.
CREATE TABLE IF NOT EXISTS claude_entry (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project text NOT NULL, session text NOT NULL, subpath text NOT NULL,
  uuid text, entry text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS claude_entry_place ON claude_entry (project, session, subpath, seq);
CREATE UNIQUE INDEX IF NOT EXISTS claude_entry_uuid ON claude_entry (project, session, subpath, uuid)
  WHERE uuid IS NOT NULL;

CREATE TABLE session (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  agent text NOT NULL,
  key text NOT NULL,
  session_id text NOT NULL,
  updated_at double precision NOT NULL,
  archived_at double precision,
  label text,
  spawned_by text,
  search_text text NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  entry text NOT NULL,
  bulk text,
  UNIQUE (agent, key)
);
CREATE INDEX session_live ON session (agent, updated_at DESC, key) WHERE archived_at IS NULL;
CREATE INDEX session_archived ON session (agent, updated_at DESC, key) WHERE archived_at IS NOT NULL;
CREATE INDEX session_by_session_id ON session (agent, session_id text_pattern_ops);
CREATE INDEX session_by_label ON session (agent, label) WHERE label IS NOT NULL;

-- The number of sessions, in sixteen parts so that inserts do not wait for each other.
CREATE TABLE session_count (
  agent text NOT NULL, archived boolean NOT NULL, part int NOT NULL, n bigint NOT NULL,
  PRIMARY KEY (agent, archived, part)
);
CREATE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN PERFORM count_session(OLD.agent, OLD.archived_at IS NOT NULL, OLD.key, -1); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM count_session(NEW.agent, NEW.archived_at IS NOT NULL, NEW.key, 1); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER session_made AFTER INSERT OR DELETE ON session
  FOR EACH ROW EXECUTE FUNCTION count_sessions();
CREATE TRIGGER session_moved AFTER UPDATE ON session
  FOR EACH ROW WHEN ((OLD.archived_at IS NULL) <> (NEW.archived_at IS NULL))
  EXECUTE FUNCTION count_sessions();

CREATE TABLE transcript (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  agent text NOT NULL,
  -- The name that the file of this transcript has on a machine that keeps files.
  name text NOT NULL,
  session_id text NOT NULL,
  topic_id text,
  header text NOT NULL,
  leaf_id text,
  entries bigint NOT NULL DEFAULT 0,
  bytes bigint NOT NULL DEFAULT 0,
  changed_at bigint NOT NULL,
  reason text,
  archived_at bigint,
  UNIQUE (agent, name)
);
CREATE INDEX transcript_session ON transcript (agent, session_id);
CREATE TABLE transcript_entry (
  transcript bigint NOT NULL REFERENCES transcript ON DELETE CASCADE,
  seq bigint NOT NULL,
  id text NOT NULL,
  parent_id text,
  line text NOT NULL,
  PRIMARY KEY (transcript, seq)
);
CREATE INDEX transcript_entry_id ON transcript_entry (transcript, id);

CREATE TABLE lane (
  key text PRIMARY KEY,
  owner text REFERENCES member ON DELETE SET NULL,
  -- The member that served the lane last: it may still have a running Claude process.
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
  -- The member whose caller waits for the answer. That member takes this input itself.
  pin text,
  -- The member that has received this input.
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
-- One running turn per lane, over all machines.
CREATE UNIQUE INDEX turn_running ON turn (lane) WHERE state = 'running';
CREATE INDEX turn_lane ON turn (lane, started_at) WHERE state = 'done';
CREATE INDEX turn_started ON turn (started_at) WHERE state = 'done';

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
  -- The account that it is sent through: channel|account.
  via text NOT NULL,
  owner text REFERENCES member ON DELETE SET NULL,
  -- The owner has received this delivery.
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
