select count(*) from command where finished_sequence is null and alias_of is null
