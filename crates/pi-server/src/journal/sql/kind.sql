select kind from command where ticket = :ticket
