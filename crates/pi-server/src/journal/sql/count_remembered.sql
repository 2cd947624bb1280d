select count(*) from command where forgotten = 0
