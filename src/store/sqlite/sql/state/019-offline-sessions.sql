-- `cc list` shows sessions of the offline agent, which have no transcript.
CREATE INDEX coding_session_offline ON coding_session (id) WHERE json_extract(record, '$.model') = 'offline';
