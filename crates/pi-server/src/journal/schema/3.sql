-- When the file of a session was written last as far as its version tells, in nanoseconds since 1970: a file of the same length
-- may be another. A session that has none had no file.
alter table berth add column modified integer;
