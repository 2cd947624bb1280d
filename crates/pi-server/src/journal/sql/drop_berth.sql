delete from berth where session = :session
