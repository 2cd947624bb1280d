select count(*) from (
    select sequence - lag(sequence) over lane as step, lane_sequence - lag(lane_sequence) over lane as lane_step
    from command
    window lane as (partition by lane order by ticket)
)
where step <= 0 or lane_step <= 0
