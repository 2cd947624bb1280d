-- An answer stays as long as a command that is remembered stands for the same intent, be it through others.
with recursive needed (ticket) as (
    select alias_of from command where alias_of is not null and forgotten = 0
    union
    select command.alias_of from command join needed using (ticket) where command.alias_of is not null
)
update command set answer = null
where forgotten = 1 and answer is not null and ticket not in (select ticket from needed)
