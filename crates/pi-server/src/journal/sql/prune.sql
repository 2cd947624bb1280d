-- Only what is history: too old, or beyond the newest so many. An alias between two that are remembered stays.
with recursive needed (ticket) as (
    select alias_of from command where alias_of is not null and forgotten = 0
    union
    select command.alias_of from command join needed using (ticket) where command.alias_of is not null
)
delete from command
where forgotten = 1
    and ticket not in (select ticket from needed)
    and (accepted_at < :oldest
        or ticket <= coalesce((select ticket from command order by ticket desc limit 1 offset :count), -1))
