select ticket, accepted_at, started_at, lane, lane_sequence, kind, principal, client, id, key, fingerprint, subject, header,
    finished_at, success, timed_out, recovered, error, version, alias_of
from command
order by ticket
