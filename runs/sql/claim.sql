-- How runs change hands: claimed from who lost them, given back, renewed. Two updates, each fencing (ruling 4): a
-- claim leaves `running` for `queued`, so the old attempt matches nothing; every take raises the attempt (take.sql).

-- Claim runs from a holder that is lost: compare and set on (attempt, running), so of two claims one wins, and a
-- loss is counted once (CR-13). Read-backs wait for the open marks' own deadlines; a holder that is proven dead
-- sends no more, so its own marks need no wait (ruling 4). The heads are locked first, in one order: a mark under
-- way is then stored, and the next statement, with a snapshot of its own, sees its deadline (ruling 39).
CREATE FUNCTION liyagent_claim(p_runs uuid[], p_attempts int[], p_cause text, p_proven uuid)
RETURNS TABLE (run uuid, attempt int, losses smallint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM runs_run r WHERE r.id = ANY (p_runs) AND r.status = 'running' ORDER BY r.id FOR NO KEY UPDATE;
    RETURN QUERY
    UPDATE runs_run r SET status = 'queued', holder = NULL, losses = r.losses + 1, last_loss = p_cause,
            -- One that was to be told that it has failed, and could not be, is tried again later and later.
            not_before = CASE WHEN r.losses > 2
                THEN liyagent_now() + make_interval(secs => LEAST(300, power(2, LEAST(r.losses, 12) - 2))) END,
            settle_after = GREATEST(r.settle_after, (
                SELECT max(c.deadline) FROM runs_call c
                WHERE c.run_id = r.id AND c.fate = '' AND c.holder IS DISTINCT FROM p_proven))
        FROM unnest(p_runs, p_attempts) AS lost(id, attempt)
        WHERE r.id = lost.id AND r.attempt = lost.attempt AND r.status = 'running'
        RETURNING r.id, r.attempt, r.losses;
    IF FOUND THEN PERFORM liyagent_notify_queued(); END IF;
END $$;

-- Tell every process, at this commit, that a run is queued. No payload, so that the server tells a transaction's many
-- as one. From claims and hand-overs alone, which are rare: all commits that notify go one after another, each with its
-- wait for the log (tried: 970 starts a second became 250). A start is told of after its commit (runs/listen.py).
CREATE FUNCTION liyagent_notify_queued() RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_notify('liyagent_queued', '')
$$;

-- Whether this session may claim what it did not prove: one grace after the server's start and after this very
-- connection was made (ruling 3). Holders could not renew while the server was away, and a crash of its backends leaves
-- its start time as it was, but no connection.
CREATE FUNCTION liyagent_may_claim(p_grace_seconds double precision) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT clock_timestamp() >= make_interval(secs => p_grace_seconds)
            + GREATEST(backend_start, pg_postmaster_start_time())
        FROM pg_stat_activity WHERE pid = pg_backend_pid()
$$;

-- Claim what lapsed: the holder did not renew, or has no row at all (a missing row counts as lapsed, ruling 2).
-- Never the sweeper's own runs. A locked head is left to the next sweep: one run never holds up the others.
CREATE FUNCTION liyagent_sweep(p_sweeper uuid, p_limit int, p_grace_seconds double precision)
RETURNS TABLE (run uuid, attempt int, losses smallint) LANGUAGE plpgsql AS $$
DECLARE v_lapsed uuid[]; v_runs uuid[]; v_attempts int[];
BEGIN
    IF NOT liyagent_may_claim(p_grace_seconds) THEN RETURN; END IF;
    -- Holders are few and runs many: from one holder of running rows to the next in the index, never row by row.
    WITH RECURSIVE held(holder) AS (
        (SELECT r.holder FROM runs_run r WHERE r.status = 'running' ORDER BY r.holder LIMIT 1)
        UNION ALL
        SELECT (SELECT r.holder FROM runs_run r WHERE r.status = 'running' AND r.holder > held.holder
            ORDER BY r.holder LIMIT 1) FROM held WHERE held.holder IS NOT NULL
    )
    SELECT array_agg(held.holder) INTO v_lapsed FROM held LEFT JOIN leases_holder h ON h.id = held.holder
        WHERE held.holder IS DISTINCT FROM p_sweeper AND (h.id IS NULL OR h.renew_by < liyagent_now());
    SELECT array_agg(lost.id), array_agg(lost.attempt) INTO v_runs, v_attempts FROM (
        SELECT r.id, r.attempt FROM runs_run r WHERE r.status = 'running' AND r.holder = ANY (v_lapsed)
            LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED) AS lost;
    IF v_runs IS NULL THEN RETURN; END IF;
    RETURN QUERY SELECT * FROM liyagent_claim(v_runs, v_attempts, 'lapse', NULL);
END $$;

-- Claim the runs of a holder that is proven dead (ruling 3a).
CREATE FUNCTION liyagent_claim_proven(p_dead uuid, p_limit int)
RETURNS TABLE (run uuid, attempt int, losses smallint) LANGUAGE plpgsql AS $$
DECLARE v_runs uuid[]; v_attempts int[];
BEGIN
    SELECT array_agg(lost.id), array_agg(lost.attempt) INTO v_runs, v_attempts FROM (
        SELECT r.id, r.attempt FROM runs_run r WHERE r.status = 'running' AND r.holder = p_dead
            LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED) AS lost;
    IF v_runs IS NULL THEN RETURN; END IF;
    RETURN QUERY SELECT * FROM liyagent_claim(v_runs, v_attempts, 'proof', p_dead);
END $$;

-- Whether a session keeps this advisory lock: pg_locks shows a key of 64 bits in two halves.
CREATE FUNCTION liyagent_is_locked(p_key bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid::bigint = (p_key >> 32) & 4294967295 AND l.objid::bigint = p_key & 4294967295)
$$;

-- The holders whose life-lock nobody keeps, of those that carry runs and are `p_soon` seconds before the end of their
-- lease or past it: only then is pg_locks read, so a look at the living costs next to nothing (ruling 3b). The lock is
-- looked at and never tried: one that a watcher had for a moment would look alive to all others.
CREATE FUNCTION liyagent_silent_holders(p_watcher uuid, p_soon double precision)
RETURNS TABLE (holder uuid, life_lock bigint) LANGUAGE plpgsql AS $$
DECLARE v_soon timestamptz := liyagent_now() + make_interval(secs => p_soon);
BEGIN
    RETURN QUERY
    SELECT h.id, h.life_lock FROM leases_holder h
        WHERE h.id <> p_watcher AND h.life_lock IS NOT NULL AND h.renew_by < v_soon
            AND EXISTS (SELECT 1 FROM runs_run r WHERE r.status = 'running' AND r.holder = h.id)
            AND NOT liyagent_is_locked(h.life_lock)
        LIMIT 1000;
END $$;

-- Claim the runs of a holder that hints at its death (ruling 3b): the lock that was seen free is the one it still
-- names, nobody keeps it now, and the lease has passed. A free lock alone is no death: a session can be ended
-- under a living holder. No proof: its own marks keep their deadlines. A holder that renews just now is skipped.
CREATE FUNCTION liyagent_claim_hinted(p_silent uuid, p_life_lock bigint, p_limit int, p_grace_seconds double precision)
RETURNS TABLE (run uuid, attempt int, losses smallint) LANGUAGE plpgsql AS $$
DECLARE v_runs uuid[]; v_attempts int[];
BEGIN
    IF NOT liyagent_may_claim(p_grace_seconds) THEN RETURN; END IF;
    PERFORM 1 FROM leases_holder h WHERE h.id = p_silent AND h.life_lock = p_life_lock
        AND h.renew_by < liyagent_now() FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND OR liyagent_is_locked(p_life_lock) THEN RETURN; END IF;
    SELECT array_agg(lost.id), array_agg(lost.attempt) INTO v_runs, v_attempts FROM (
        SELECT r.id, r.attempt FROM runs_run r WHERE r.status = 'running' AND r.holder = p_silent
            LIMIT p_limit FOR NO KEY UPDATE SKIP LOCKED) AS lost;
    IF v_runs IS NULL THEN RETURN; END IF;
    RETURN QUERY SELECT * FROM liyagent_claim(v_runs, v_attempts, 'hint', NULL);
END $$;

-- Give a run back without a loss: drained at a step's end, or waiting for a time with no thread (rulings 6, 10).
CREATE FUNCTION liyagent_release(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_handover boolean, p_until_settled boolean,
    p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record; v_deadline timestamptz;
BEGIN
    SELECT max(c.deadline) INTO v_deadline FROM runs_call c WHERE c.run_id = p_run AND c.fate = '';
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, status = 'queued', holder = NULL,
            handovers = r.handovers + p_handover::int, settle_after = GREATEST(r.settle_after, v_deadline),
            not_before = CASE WHEN p_until_settled THEN GREATEST(r.settle_after, v_deadline) END
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1
        RETURNING r.correlation_id, r.mission, r.recording, r.events_missing, r.stop_requested INTO v;
    IF FOUND THEN
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        IF p_handover THEN PERFORM liyagent_notify_queued(); END IF;
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = 'queued' AND sequence = p_sequence;
    END IF;
END $$;

-- Renew all that a holder holds by its own row alone (ruling 2). No row back: the holder is unknown and has lost
-- everything. `lost`: runs it named that are no longer its own; `orphans`: running rows of its own that it did
-- not name; `stops`: runs it named that a person stopped.
CREATE FUNCTION liyagent_renew(p_holder uuid, p_seconds double precision, p_runs uuid[], p_attempts int[])
RETURNS TABLE (config bigint, lost uuid[], orphans uuid[], orphan_attempts int[], stops uuid[])
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE leases_holder SET renew_by = GREATEST(renew_by, liyagent_now() + make_interval(secs => p_seconds))
        WHERE id = p_holder;
    IF NOT FOUND THEN RETURN; END IF;
    RETURN QUERY
    WITH named AS (SELECT * FROM unnest(p_runs, p_attempts) AS n(id, attempt)),
    mine AS (SELECT r.id, r.attempt, r.stop_requested FROM runs_run r
        WHERE r.status = 'running' AND r.holder = p_holder)
    SELECT liyagent_config_version(),
        (SELECT array_agg(n.id) FROM named n LEFT JOIN mine m ON m.id = n.id AND m.attempt = n.attempt
            WHERE m.id IS NULL),
        (SELECT array_agg(m.id ORDER BY m.id) FROM mine m LEFT JOIN named n ON m.id = n.id AND m.attempt = n.attempt
            WHERE n.id IS NULL),
        (SELECT array_agg(m.attempt ORDER BY m.id) FROM mine m
            LEFT JOIN named n ON m.id = n.id AND m.attempt = n.attempt WHERE n.id IS NULL),
        (SELECT array_agg(m.id) FROM mine m JOIN named n ON m.id = n.id AND m.attempt = n.attempt
            WHERE m.stop_requested);
END $$;

-- Running rows of a holder: how an attempt finds a take whose answer was lost (ruling 5).
CREATE FUNCTION liyagent_mine(p_holder uuid) RETURNS TABLE (run uuid, attempt int) LANGUAGE sql STABLE AS $$
    SELECT id, attempt FROM runs_run WHERE status = 'running' AND holder = p_holder
$$;

-- A process that ends gives back all it still carries: no loss. Its threads are fenced out by this; what they sent
-- before may be read back after their marks' deadlines (ruling 10).
CREATE FUNCTION liyagent_hand_over(p_holder uuid) RETURNS TABLE (run uuid, attempt int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM runs_run r WHERE r.holder = p_holder AND r.status = 'running' ORDER BY r.id FOR NO KEY UPDATE;
    RETURN QUERY
    UPDATE runs_run r SET status = 'queued', holder = NULL, handovers = r.handovers + 1,
            settle_after = GREATEST(r.settle_after, (
                SELECT max(c.deadline) FROM runs_call c WHERE c.run_id = r.id AND c.fate = ''))
        WHERE r.holder = p_holder AND r.status = 'running'
        RETURNING r.id, r.attempt;
    IF FOUND THEN PERFORM liyagent_notify_queued(); END IF;
END $$;

-- Queued runs whose sealing key no living process has are paused, and queued again once one has it (ruling 16); a
-- thousand at a time, found from one key to the next in the index. Where no process is alive, as just after an
-- outage, nothing is known of keys.
CREATE FUNCTION liyagent_pause_unreadable() RETURNS TABLE (run uuid, status text, key_id text) LANGUAGE plpgsql AS $$
DECLARE v_known text[]; v_missing text[]; v_found text[];
BEGIN
    SELECT array_agg(DISTINCT k.id) INTO v_known
        FROM leases_holder h, unnest(h.key_ids) AS k(id) WHERE h.renew_by > liyagent_now();
    IF v_known IS NULL THEN RETURN; END IF;
    WITH RECURSIVE used(status, id) AS (
        (SELECT r.status, r.key_id FROM runs_run r WHERE r.status IN ('queued', 'paused')
            ORDER BY r.status, r.key_id LIMIT 1)
        UNION ALL
        SELECT n.status, n.key_id FROM used, LATERAL (
            SELECT r.status, r.key_id FROM runs_run r
                WHERE r.status IN ('queued', 'paused') AND (r.status, r.key_id) > (used.status, used.id)
                ORDER BY r.status, r.key_id LIMIT 1) AS n
    )
    SELECT array_agg(used.id) FILTER (WHERE used.status = 'queued' AND used.id <> ALL (v_known)),
            array_agg(used.id) FILTER (WHERE used.status = 'paused' AND used.id = ANY (v_known))
        INTO v_missing, v_found FROM used;
    IF v_missing IS NULL AND v_found IS NULL THEN RETURN; END IF;
    RETURN QUERY
    UPDATE runs_run r SET status = CASE r.status WHEN 'queued' THEN 'paused' ELSE 'queued' END
        FROM ((SELECT w.id, w.status FROM runs_run w
                WHERE w.status = 'queued' AND w.key_id = ANY (v_missing) AND NOT w.stop_requested LIMIT 1000)
            UNION ALL
            (SELECT w.id, w.status FROM runs_run w
                WHERE w.status = 'paused' AND w.key_id = ANY (v_found) LIMIT 1000)) AS w
        WHERE r.id = w.id AND r.status = w.status
        RETURNING r.id, r.status::text, r.key_id::text;
    IF FOUND AND v_found IS NOT NULL THEN PERFORM liyagent_notify_queued(); END IF;
END $$;
