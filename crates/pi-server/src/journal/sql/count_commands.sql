select count(*) from command
