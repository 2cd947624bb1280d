update command set started_at = :at where ticket = :ticket
