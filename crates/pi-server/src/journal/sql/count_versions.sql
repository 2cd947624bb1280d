select count(*) from version
