delete from version where session = :session
