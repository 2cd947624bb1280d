select count(*) from sqlite_schema
