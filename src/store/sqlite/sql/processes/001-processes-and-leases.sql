CREATE TABLE process (
  pid INTEGER NOT NULL, start_time TEXT NOT NULL, domain TEXT NOT NULL, key TEXT NOT NULL,
  owner_pid INTEGER NOT NULL, owner_start_time TEXT NOT NULL, owner_domain TEXT NOT NULL,
  PRIMARY KEY (pid, start_time, domain)
) STRICT, WITHOUT ROWID;
CREATE TABLE lease (
  sdk_session_id TEXT PRIMARY KEY, key TEXT NOT NULL,
  owner_pid INTEGER NOT NULL, owner_start_time TEXT NOT NULL, owner_domain TEXT NOT NULL
) STRICT, WITHOUT ROWID;
