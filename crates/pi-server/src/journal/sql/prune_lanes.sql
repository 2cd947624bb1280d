delete from lane
where lane <> 'server'
    and not exists (select 1 from command where command.lane = lane.lane)
    and not exists (select 1 from version where 'session:' || version.session = lane.lane)
