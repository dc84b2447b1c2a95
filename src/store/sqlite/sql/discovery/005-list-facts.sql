-- "Brief" is the word for what a hand-off gives to another agent.
ALTER TABLE file RENAME COLUMN brief TO list_facts;
