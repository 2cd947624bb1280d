-- How long the file of a session is as far as its version tells: what makes it longer while the server does not hold it is a
-- change that no command made.
alter table berth add column length integer;
-- 0 or 1 where a client chose.
alter table berth add column auto_compaction integer;
alter table berth add column auto_retry integer;
