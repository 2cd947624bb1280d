select session, file, cwd, created from berth order by created, session
