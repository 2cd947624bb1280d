select count(*) from command
where finished_sequence is not null
    and (success is null or finished_at is null or size is null or (forgotten = 0 and answer is null)
        or (success = 0 and error is null))
