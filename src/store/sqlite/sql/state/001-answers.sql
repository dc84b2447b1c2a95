-- Answers to requests that carry an idempotency key (store/tables/answers.ts).
CREATE TABLE answer (
  who TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL,
  input_hash TEXT NOT NULL, at INTEGER NOT NULL, output TEXT,
  PRIMARY KEY (who, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answer_at ON answer (at);
