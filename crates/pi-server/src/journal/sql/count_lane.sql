insert into lane (lane, sequence) values (:lane, 1)
on conflict (lane) do update set sequence = sequence + 1
returning sequence
