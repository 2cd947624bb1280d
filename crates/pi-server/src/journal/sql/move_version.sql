insert into version (session, version, sequence) values (:session, :version, :sequence)
on conflict (session) do update set version = excluded.version, sequence = excluded.sequence
