-- How many sessions there are, so that a list does not count them. `check_sum` is the negative of `n`: a changed byte is noticed.
CREATE TABLE session_count (archived INTEGER PRIMARY KEY, n INTEGER NOT NULL, check_sum INTEGER NOT NULL) STRICT;
INSERT INTO session_count SELECT 0, count(*), -count(*) FROM session WHERE archived_at IS NULL;
INSERT INTO session_count SELECT 1, count(*), -count(*) FROM session WHERE archived_at IS NOT NULL;
CREATE TRIGGER session_added AFTER INSERT ON session BEGIN
  UPDATE session_count SET n = n + 1, check_sum = check_sum - 1 WHERE archived = (NEW.archived_at IS NOT NULL);
END;
CREATE TRIGGER session_removed AFTER DELETE ON session BEGIN
  UPDATE session_count SET n = n - 1, check_sum = check_sum + 1 WHERE archived = (OLD.archived_at IS NOT NULL);
END;
CREATE TRIGGER session_moved AFTER UPDATE OF archived_at ON session
WHEN (OLD.archived_at IS NULL) <> (NEW.archived_at IS NULL) BEGIN
  UPDATE session_count SET n = n - 1, check_sum = check_sum + 1 WHERE archived = (OLD.archived_at IS NOT NULL);
  UPDATE session_count SET n = n + 1, check_sum = check_sum - 1 WHERE archived = (NEW.archived_at IS NOT NULL);
END;
