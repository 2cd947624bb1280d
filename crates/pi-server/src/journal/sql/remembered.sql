with recursive needed (ticket) as (
    select alias_of from command where alias_of is not null and forgotten = 0
    union
    select command.alias_of from command join needed using (ticket) where command.alias_of is not null
)
select ticket, sequence, accepted_at, started_at, lane, kind, principal, client, id, key, fingerprint, subject, header, alias_of,
    finished_sequence, finished_at, success, timed_out, recovered, error, version, answer, size
from command
where forgotten = 0 or ticket in (select ticket from needed)
order by ticket
