insert into berth (session, file, cwd, created, length, modified, auto_compaction, auto_retry)
values (:session, :file, :cwd, :created, :length, :modified, :auto_compaction, :auto_retry)
on conflict (session) do update
set file = excluded.file, cwd = excluded.cwd, created = excluded.created, length = excluded.length,
    modified = excluded.modified, auto_compaction = excluded.auto_compaction, auto_retry = excluded.auto_retry
