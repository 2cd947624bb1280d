select count(*) from command
where ticket > coalesce((select value from mark where name = 'ticket'), 0)
    or max(sequence, coalesce(finished_sequence, 0)) > coalesce((select value from mark where name = 'sequence'), 0)
