insert into mark (name, value) values (:name, :value)
on conflict (name) do update set value = max(value, excluded.value)
