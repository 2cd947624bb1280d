insert into command
    (ticket, sequence, accepted_at, lane, lane_sequence, kind, principal, client, id, key, fingerprint, subject, header, alias_of)
values
    (:ticket, :sequence, :at, :lane, :lane_sequence, :kind, :principal, :client, :id, :key, :fingerprint, :subject, :header, :alias_of)
