-- Whose rights decide whether a coding session gets the message: JSON. Absent in messages of earlier versions.
ALTER TABLE mail ADD COLUMN giver text;
