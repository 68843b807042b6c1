-- The one door into `running`: every take raises the attempt, so no straggler of any kind matches (ruling 4).

-- Take queued runs for a holder that is alive: those that ran before first, then the oldest fresh ones. Only
-- formats and keys that the holder knows (ruling 14); a stopped run is ended without its key.
CREATE FUNCTION liyagent_take(p_holder uuid, p_again int, p_fresh int, p_formats int[], p_keys text[])
RETURNS TABLE (run uuid, attempt int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM leases_holder WHERE id = p_holder AND NOT is_draining AND renew_by > liyagent_now();
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY
    WITH due AS (
        SELECT again.id FROM (SELECT r.id FROM runs_run r WHERE r.status = 'queued' AND r.attempt > 0
                AND (r.not_before IS NULL OR r.not_before <= liyagent_now())
                AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
            ORDER BY r.created_at LIMIT p_again FOR UPDATE SKIP LOCKED) AS again
        UNION ALL
        SELECT fresh.id FROM (SELECT r.id FROM runs_run r WHERE r.status = 'queued' AND r.attempt = 0
                AND (r.not_before IS NULL OR r.not_before <= liyagent_now())
                AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
            ORDER BY r.created_at LIMIT p_fresh FOR UPDATE SKIP LOCKED) AS fresh
    )
    UPDATE runs_run r SET status = 'running', holder = p_holder, attempt = r.attempt + 1,
            taken_at = liyagent_now(), not_before = NULL
        FROM due WHERE r.id = due.id AND r.status = 'queued'
        RETURNING r.id, r.attempt;
END $$;
