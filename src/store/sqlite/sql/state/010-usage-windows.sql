-- The usage windows of the Claude subscription, as Claude last reported them (usage-store.ts).
CREATE TABLE usage_window (
  id TEXT PRIMARY KEY,
  record TEXT NOT NULL
) STRICT;
