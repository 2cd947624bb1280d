-- Sessions that are gone, and the record that says so. Keys that were used before it mean nothing to another session of that
-- name, whatever is known of the command that removed it.
create table gone (
    session  text    primary key,
    sequence integer not null
) strict, without rowid;

insert into gone (session, sequence)
select subject, max(finished_sequence)
from command
where kind = 'delete_session' and success = 1 and subject is not null and finished_sequence is not null
group by subject;
