-- A session that is gone stays gone.
update berth
set file = :file, cwd = :cwd, created = :created, length = :length, modified = :modified,
    auto_compaction = :auto_compaction, auto_retry = :auto_retry
where session = :session
