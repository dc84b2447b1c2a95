-- Whether somebody was ever paired as the owner. From then on nobody becomes the owner without being named as the owner.
CREATE TABLE first_owner (paired_at INTEGER NOT NULL) STRICT;
INSERT INTO first_owner SELECT min(approved_at) FROM paired_person WHERE owner HAVING count(*) > 0;
