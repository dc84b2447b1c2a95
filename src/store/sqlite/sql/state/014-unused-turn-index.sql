-- No query uses it, and every turn wrote a page of it: turns of many sessions go to many places.
DROP INDEX turn_lane;
