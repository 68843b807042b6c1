-- The doors into `running`: every take raises the attempt, so no straggler of any kind matches (ruling 4).

-- Take queued runs for a holder that is alive: those whose time has come and those that ran before first, then the
-- oldest fresh ones. Only formats and keys that the holder knows (ruling 14); a stopped run is ended without its key.
-- A run with two losses is left to a process of its own (ruling 11); one with more is only told that it has failed.
-- What waits for a time ahead is not looked at: each branch reads its own index, from its front.
CREATE FUNCTION liyagent_take(p_holder uuid, p_again int, p_fresh int, p_formats int[], p_keys text[])
RETURNS TABLE (run uuid, attempt int) LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := liyagent_now();
BEGIN
    PERFORM 1 FROM leases_holder WHERE id = p_holder AND NOT is_draining AND renew_by > v_now;
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY
    WITH due AS (
        (SELECT timed.id FROM (SELECT r.id FROM runs_run r
                WHERE r.status = 'queued' AND r.losses <> 2 AND r.not_before <= v_now
                AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
            ORDER BY r.not_before LIMIT p_again FOR UPDATE SKIP LOCKED) AS timed
        UNION ALL
        SELECT again.id FROM (SELECT r.id FROM runs_run r
                WHERE r.status = 'queued' AND r.losses <> 2 AND r.not_before IS NULL AND r.attempt > 0
                AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
            ORDER BY r.created_at LIMIT p_again FOR UPDATE SKIP LOCKED) AS again
        LIMIT p_again)
        UNION ALL
        SELECT fresh.id FROM (SELECT r.id FROM runs_run r
                WHERE r.status = 'queued' AND r.not_before IS NULL AND r.attempt = 0
                AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
            ORDER BY r.created_at LIMIT p_fresh FOR UPDATE SKIP LOCKED) AS fresh
    )
    UPDATE runs_run r SET status = 'running', holder = p_holder, attempt = r.attempt + 1,
            taken_at = liyagent_now(), not_before = NULL
        FROM due WHERE r.id = due.id AND r.status = 'queued'
        RETURNING r.id, r.attempt;
END $$;

-- Take exactly this run, for a process that carries nothing else. Of two that ask, one has it.
CREATE FUNCTION liyagent_take_one(p_holder uuid, p_run uuid, p_formats int[], p_keys text[])
RETURNS TABLE (run uuid, attempt int) LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := liyagent_now();
BEGIN
    PERFORM 1 FROM leases_holder WHERE id = p_holder AND NOT is_draining AND renew_by > v_now;
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY
    UPDATE runs_run r SET status = 'running', holder = p_holder, attempt = r.attempt + 1,
            taken_at = liyagent_now(), not_before = NULL
        WHERE r.id = p_run AND r.status = 'queued' AND (r.not_before IS NULL OR r.not_before <= v_now)
            AND r.format = ANY (p_formats) AND (r.key_id = ANY (p_keys) OR r.stop_requested)
        RETURNING r.id, r.attempt;
END $$;

-- Which queued runs a process of their own should take now: the stopped ones first, whose end is waited for.
CREATE FUNCTION liyagent_due_alone(p_formats int[], p_keys text[], p_limit int)
RETURNS TABLE (run uuid, is_stopped boolean) LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := liyagent_now();
BEGIN
    RETURN QUERY
    (SELECT r.id, true FROM runs_run r WHERE r.status = 'queued' AND r.losses = 2 AND r.stop_requested
            AND (r.not_before IS NULL OR r.not_before <= v_now) AND r.format = ANY (p_formats)
        LIMIT p_limit)
    UNION ALL
    (SELECT r.id, false FROM runs_run r WHERE r.status = 'queued' AND r.losses = 2 AND NOT r.stop_requested
            AND r.not_before IS NULL AND r.format = ANY (p_formats) AND r.key_id = ANY (p_keys)
        ORDER BY r.not_before, r.created_at LIMIT p_limit)
    UNION ALL
    (SELECT r.id, false FROM runs_run r WHERE r.status = 'queued' AND r.losses = 2 AND NOT r.stop_requested
            AND r.not_before <= v_now AND r.format = ANY (p_formats) AND r.key_id = ANY (p_keys)
        ORDER BY r.not_before LIMIT p_limit)
    LIMIT p_limit;
END $$;
