insert into gone (session, sequence) values (:session, :sequence)
on conflict (session) do update set sequence = excluded.sequence
