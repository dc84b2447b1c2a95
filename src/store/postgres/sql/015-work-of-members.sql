-- A member that leaves releases its lanes and the deliveries that it has not sent. The foreign keys rewrote the deliveries that it
-- had sent, too, and looked for the member after each change of a lane and for each delivery.

ALTER TABLE outbox DROP CONSTRAINT outbox_owner_fkey;
ALTER TABLE lane DROP CONSTRAINT lane_owner_fkey;
CREATE FUNCTION release_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lane SET owner = NULL WHERE owner = OLD.id;
  UPDATE outbox SET owner = NULL WHERE owner = OLD.id AND state IN ('queued', 'attempting', 'retry', 'unknown');
  RETURN NULL;
END $$;
CREATE TRIGGER member_gone AFTER DELETE ON member FOR EACH ROW EXECUTE FUNCTION release_work();
