-- What was sent last: a plain "yes" answers a question only if nothing was sent after the question.
CREATE INDEX outbox_over ON outbox (updated_at) WHERE state IN ('sent', 'dead');
