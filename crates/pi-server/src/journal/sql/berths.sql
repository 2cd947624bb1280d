select session, file, cwd, created, length, modified, auto_compaction, auto_retry from berth order by created, session
