-- Newest first. A filter that is null lets everything pass.
select ticket, accepted_at, started_at, lane, lane_sequence, kind, principal, client, id, key, fingerprint, subject, header,
    finished_at, success, timed_out, recovered, error, version, alias_of
from command
where (:subject is null or subject = :subject)
    and (:id is null or coalesce(id, 'anon:' || ticket) = :id)
    and (:sender is null or client = :sender)
    and (:from is null or coalesce(finished_at, started_at, accepted_at) >= :from)
    and (:until is null or accepted_at <= :until)
order by ticket desc
limit :limit
