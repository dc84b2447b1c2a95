-- How often the agent was asked about a message. A message that an earlier version lost once may have been asked.
ALTER TABLE inbox ADD COLUMN asked INTEGER NOT NULL DEFAULT 0; UPDATE inbox SET asked = lost_turns;
