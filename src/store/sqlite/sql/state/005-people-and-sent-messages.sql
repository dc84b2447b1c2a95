-- Who may talk (store/tables/pairing.ts), and which session a sent message belongs to (store/tables/reply-map.ts).
CREATE TABLE pairing_request (
  channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
  code TEXT NOT NULL UNIQUE, name TEXT, asked_at INTEGER NOT NULL,
  PRIMARY KEY (channel, account, sender)
) STRICT, WITHOUT ROWID;
CREATE TABLE paired_person (
  channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
  name TEXT, owner INTEGER NOT NULL, approved_at INTEGER NOT NULL,
  PRIMARY KEY (channel, account, sender)
) STRICT, WITHOUT ROWID;
CREATE TABLE sent_message (
  channel TEXT NOT NULL, account TEXT NOT NULL, chat TEXT NOT NULL, message TEXT NOT NULL,
  agent TEXT NOT NULL, session_key TEXT NOT NULL, session_id TEXT, entry_id TEXT, sent_at INTEGER NOT NULL,
  PRIMARY KEY (channel, account, chat, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_message_at ON sent_message (sent_at);
