select count(*) from command where finished_sequence <= sequence
