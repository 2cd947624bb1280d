insert into berth (session, file, cwd, created) values (:session, :file, :cwd, :created)
on conflict (session) do update set file = excluded.file, cwd = excluded.cwd, created = excluded.created
