-- Messages between sessions, chats and people (store/tables/mail.ts).
CREATE TABLE mail (
  id text COLLATE "C" PRIMARY KEY,
  sender text NOT NULL,
  sender_name text NOT NULL,
  -- The sender's key for this message: a repeated send is one message.
  send_key text,
  recipient text NOT NULL,
  recipient_name text NOT NULL,
  session text,
  body text NOT NULL,
  reply_to text,
  resume bigint NOT NULL,
  depth bigint NOT NULL,
  state text NOT NULL,
  accepted_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  -- The process that delivers it now.
  holder text,
  delivered_at bigint,
  delivered_to text,
  read_at bigint,
  expired_at bigint,
  woke_at bigint,
  repeats bigint NOT NULL DEFAULT 0,
  note text
);
CREATE UNIQUE INDEX mail_key ON mail (sender, send_key) WHERE send_key IS NOT NULL;
CREATE INDEX mail_sent ON mail (sender, accepted_at);
CREATE INDEX mail_received ON mail (recipient, accepted_at);
CREATE INDEX mail_woke ON mail (woke_at) WHERE woke_at IS NOT NULL;
-- Few messages are on their way.
CREATE INDEX mail_waiting ON mail (recipient, id) WHERE state = 'accepted';
CREATE INDEX mail_unread ON mail (delivered_to) WHERE state = 'delivered';
CREATE TABLE mail_session (
  session text PRIMARY KEY,
  root text NOT NULL,
  machine text NOT NULL,
  pid bigint,
  started_at bigint NOT NULL,
  ended_at bigint,
  depth bigint NOT NULL DEFAULT 0
);
CREATE INDEX mail_session_process ON mail_session (machine, pid);
CREATE INDEX mail_session_root ON mail_session (root);
CREATE INDEX mail_session_live ON mail_session (machine) WHERE ended_at IS NULL;
-- Who may wake a lineage, where the owner has decided it.
CREATE TABLE mail_wake (root text PRIMARY KEY, policy text NOT NULL);
