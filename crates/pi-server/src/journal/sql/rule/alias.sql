select count(*) from command where alias_of is not null and alias_of >= ticket
