// Who shares the database: one row for each living process, and what only one of them may have at a time.

export const memberTables = `
  CREATE TABLE member (
    id text PRIMARY KEY,
    machine text NOT NULL,
    labels text[] NOT NULL DEFAULT '{}',
    /* Takes lanes and deliveries; a command line that asks one thing does not. */
    serves boolean NOT NULL,
    /* Which accounts it can send through: channel|account. */
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

  /* A member's writes are refused once its row is gone; deleting the row waits for running writes. */
  CREATE FUNCTION fence(me text) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    IF me IS NULL THEN RETURN true; END IF;
    PERFORM 1 FROM member WHERE id = me FOR KEY SHARE;
    IF NOT FOUND THEN RAISE EXCEPTION 'member % was buried', me USING ERRCODE = 'RP001'; END IF;
    RETURN true;
  END $$;

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
  /* Events that are too long for a notification; kept for a moment. */
  CREATE UNLOGGED TABLE event_body (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, at timestamptz NOT NULL DEFAULT now()
  );
`
