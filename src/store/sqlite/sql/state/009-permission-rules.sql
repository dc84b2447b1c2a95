-- Rules that cover a command in a repository, or the edits below a folder, also for a limited time.
ALTER TABLE grant_always ADD COLUMN kind TEXT;
ALTER TABLE grant_always ADD COLUMN folder TEXT;
ALTER TABLE grant_always ADD COLUMN until INTEGER;
