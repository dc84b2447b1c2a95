-- Names of schedules are unique and people use them: without the index each lookup reads every schedule.
CREATE INDEX schedule_name ON schedule (name);
