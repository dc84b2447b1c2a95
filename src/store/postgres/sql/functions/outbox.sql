-- Adds a delivery. Its owner is the member that already sends for this lane and account, which keeps the order; otherwise the
-- caller, if it can send through the account. `mine`: the caller may send it now, because it has received every earlier delivery.
CREATE OR REPLACE FUNCTION add_delivery(
  me text, its_id text, its_key text, its_lane text, its_via text, its_record text, at bigint, at_once boolean
) RETURNS TABLE (new_seq bigint, mine boolean, marked boolean) LANGUAGE plpgsql AS $$
DECLARE before record; is_first boolean; sender text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('outbox'), hashtext(its_lane));
  SELECT owner INTO before FROM outbox WHERE lane = its_lane AND via = its_via AND state IN ('queued', 'attempting', 'retry', 'unknown')
    ORDER BY owner NULLS LAST LIMIT 1;
  is_first := NOT FOUND;
  -- Locked: when the sender leaves, it sees this delivery and releases it.
  IF is_first THEN
    SELECT id INTO sender FROM member WHERE id = me AND serves AND its_via = ANY (reach) FOR KEY SHARE;
  ELSE
    SELECT id INTO sender FROM member WHERE id = before.owner FOR KEY SHARE;
  END IF;
  marked := at_once AND (me IS NULL OR (is_first AND sender = me));
  mine := me IS NULL OR coalesce(sender = me, false);
  IF mine AND me IS NOT NULL AND NOT is_first THEN
    mine := NOT EXISTS (
      SELECT 1 FROM outbox WHERE lane = its_lane AND via = its_via AND state IN ('queued', 'attempting', 'retry', 'unknown')
        AND (owner IS DISTINCT FROM me OR NOT handed));
  END IF;
  INSERT INTO outbox (id, idempotency_key, lane, state, attempts, updated_at, record, via, owner, handed)
    VALUES (its_id, its_key, its_lane, CASE WHEN marked THEN 'attempting' ELSE 'queued' END,
      CASE WHEN marked THEN 1 ELSE 0 END, at, its_record, its_via, sender, mine AND me IS NOT NULL)
    ON CONFLICT DO NOTHING RETURNING seq INTO new_seq;
  IF new_seq IS NOT NULL THEN RETURN NEXT; END IF;
END $$;
