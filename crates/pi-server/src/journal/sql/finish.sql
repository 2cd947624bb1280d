update command
set finished_sequence = :sequence, finished_at = :at, success = :success, timed_out = :timed_out, recovered = :recovered,
    error = :error, version = :version, answer = :answer, size = :size
where ticket = :ticket
