update command set forgotten = 1 where ticket = :ticket
