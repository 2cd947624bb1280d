select coalesce((select value from mark where name = ?1), 0)
