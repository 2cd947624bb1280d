update command
set finished_sequence = :sequence, finished_at = :at, success = :success, timed_out = :timed_out, recovered = :recovered,
    error = :error, version = :version, answer = :answer, size = :size,
    -- The server chose the session's id.
    subject = coalesce(
        subject,
        case when :success and kind in ('create_session', 'load_session') then json_extract(:answer, '$.data.sessionId') end
    )
where ticket = :ticket
