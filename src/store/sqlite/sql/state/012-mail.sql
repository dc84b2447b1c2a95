-- Messages between sessions, chats and people (store/tables/mail.ts).
CREATE TABLE mail (
  id TEXT PRIMARY KEY,
  sender TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  -- The sender's key for this message: a repeated send is one message.
  send_key TEXT,
  recipient TEXT NOT NULL,
  recipient_name TEXT NOT NULL,
  session TEXT,
  body TEXT NOT NULL,
  reply_to TEXT,
  resume INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  state TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- The process that delivers it now.
  holder TEXT,
  delivered_at INTEGER,
  delivered_to TEXT,
  read_at INTEGER,
  expired_at INTEGER,
  woke_at INTEGER,
  repeats INTEGER NOT NULL DEFAULT 0,
  note TEXT
) STRICT;
CREATE UNIQUE INDEX mail_key ON mail (sender, send_key) WHERE send_key IS NOT NULL;
CREATE INDEX mail_sent ON mail (sender, accepted_at);
CREATE INDEX mail_received ON mail (recipient, accepted_at);
CREATE INDEX mail_woke ON mail (woke_at) WHERE woke_at IS NOT NULL;
-- Few messages are on their way.
CREATE INDEX mail_waiting ON mail (recipient, id) WHERE state = 'accepted';
CREATE INDEX mail_unread ON mail (delivered_to) WHERE state = 'delivered';
CREATE TABLE mail_session (
  session TEXT PRIMARY KEY,
  root TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  depth INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX mail_session_process ON mail_session (machine, pid);
CREATE INDEX mail_session_root ON mail_session (root);
CREATE INDEX mail_session_live ON mail_session (machine) WHERE ended_at IS NULL;
-- Who may wake a lineage, where the owner has decided it.
CREATE TABLE mail_wake (root TEXT PRIMARY KEY, policy TEXT NOT NULL) STRICT;
