-- Which approval a sent message asks for: a reply to it answers that approval.
ALTER TABLE sent_message ADD COLUMN approval_id TEXT;
