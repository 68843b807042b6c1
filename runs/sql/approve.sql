-- A call that waits for a person. Lock order: head, then approval, then call; the event head last. Whoever decides adds
-- to `wakes` on the head first, whatever its status, and going to `waiting` looks at head columns alone: so no run
-- sleeps on a decision that was made (ruling 39).

-- File a held call: its mark, the request and the run's suspension in one commit. Where the run may not wait it stays
-- `running`, and the call is settled as held. `p_replaces` is the request that went stale; the mark then names the new one.
-- `status` is where the run stands after it.
CREATE FUNCTION liyagent_hold(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_waits boolean, p_step int, p_index int,
    p_provider_call_id text, p_step_key text, p_intent_digest text, p_sealed bytea, p_outcome bytea,
    p_approval uuid, p_replaces uuid, p_stale_reason text, p_request jsonb, p_words bytea,
    p_expiry_seconds double precision, p_remind_seconds double precision, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint, status text) LANGUAGE plpgsql AS $$
DECLARE v record; v_now timestamptz := liyagent_now();
BEGIN
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal,
            status = CASE WHEN NOT p_waits THEN 'running' WHEN r.stop_requested THEN 'queued' ELSE 'waiting' END,
            holder = CASE WHEN p_waits THEN NULL ELSE r.holder END
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1
        RETURNING r.* INTO v;
    IF FOUND THEN
        UPDATE approvals_approval a SET status = 'stale', settled_reason = p_stale_reason
            WHERE a.id = p_replaces AND a.status IN ('pending', 'approved');
        INSERT INTO approvals_approval (id, kind, status, run_id, correlation_id, step, index, run_waits, mission,
                agent_key, entry, requested_by, run_as, server, tool, gate, held_reason, digest, policy_fingerprint,
                ceiling, ceiling_digest, sealed, key_id, replaces, created_at, expires_at, remind_at, decided_by,
                decision_reason, settled_reason)
            VALUES (p_approval, 'call', 'pending', p_run, v.correlation_id, p_step, p_index, p_waits, v.mission,
                COALESCE(p_request->>'agent', v.agent_key), v.entry, v.started_by, p_request->>'run_as', p_request->>'server', p_request->>'tool',
                p_request->>'gate', p_request->>'reason', p_request->>'digest', p_request->>'policy_fingerprint',
                p_request->'ceiling', p_request->>'ceiling_digest', p_words, p_request->>'key_id', p_replaces, v_now,
                v_now + make_interval(secs => p_expiry_seconds), v_now + make_interval(secs => NULLIF(p_remind_seconds, 0)), '',
                '', '');
        -- A held call left nothing behind that a read-back would have to wait for: its deadline is now.
        INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent,
                approval_id, step_key, has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at,
                deadline, sealed, fate, settlement, late_finding, outcome, settled_at)
            VALUES (p_run, v.correlation_id, p_step, p_index, p_provider_call_id, p_request->>'server',
                p_request->>'tool', 'held', p_approval, p_step_key, true, (p_request->>'key_window_seconds')::int,
                p_intent_digest, p_attempt, COALESCE(v.holder, (p_request->>'holder')::uuid), v_now, v_now, p_sealed,
                CASE WHEN p_waits THEN '' ELSE 'held' END, CASE WHEN p_waits THEN '' ELSE 'answered' END, '',
                p_outcome, CASE WHEN p_waits THEN NULL ELSE v_now END)
            ON CONFLICT (run_id, step, index) DO UPDATE SET approval_id = EXCLUDED.approval_id,
                step_key = EXCLUDED.step_key, intent_digest = EXCLUDED.intent_digest, sealed = EXCLUDED.sealed,
                key_window_seconds = EXCLUDED.key_window_seconds, attempt = EXCLUDED.attempt,
                holder = EXCLUDED.holder, intent = 'held', fate = EXCLUDED.fate, outcome = EXCLUDED.outcome,
                settlement = EXCLUDED.settlement, settled_at = EXCLUDED.settled_at
                WHERE runs_call.fate = '' AND runs_call.intent = 'held';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'call % of step % of run % is settled or was sent: not held', p_index, p_step, p_run;
        END IF;
        -- An undo is held in the same commit, for this request from now on: whoever decides at once finds it so (SG-07).
        IF p_request ? 'undo' THEN
            PERFORM liyagent_undo_came(u.id, 'held', u.tries + 1, p_approval, NULL, p_request->>'reason')
                FROM sagas_undo u WHERE u.key = p_request->>'undo';
        END IF;
        PERFORM liyagent_audit('agent.approval.requested', 'agent:' || v.agent_key, v.mission, v.correlation_id,
            p_run, v.request_id, p_request - 'ceiling' || jsonb_build_object('approval', p_approval));
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        IF v.status = 'queued' THEN PERFORM liyagent_notify_queued(); END IF;
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version(), v.status::text;
    ELSE
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version(), r.status::text FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('running', 'waiting', 'queued');
    END IF;
END $$;

-- Go (back) to sleep: a CASE on the head alone. `p_wakes` was read before what the run waits for was looked at.
CREATE FUNCTION liyagent_wait(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_wakes int, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL,
            status = CASE WHEN r.wakes <> p_wakes OR r.stop_requested THEN 'queued' ELSE 'waiting' END
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1
        RETURNING r.* INTO v;
    IF FOUND THEN
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        IF v.status = 'queued' THEN PERFORM liyagent_notify_queued(); END IF;
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version() FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('waiting', 'queued');
    END IF;
END $$;

-- Rest until a time, or until woken, or whichever comes first: a CASE on the head alone, as `liyagent_wait`. One that rests
-- until a time is queued for then. `p_wakes` is NULL where nobody wakes it; a stop is not slept through.
CREATE FUNCTION liyagent_pause(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_wakes int, p_until timestamptz, p_kinds text[],
    p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL,
            status = CASE WHEN r.stop_requested OR r.wakes <> COALESCE(p_wakes, r.wakes) OR p_until IS NOT NULL
                THEN 'queued' ELSE 'waiting' END,
            not_before = CASE WHEN r.stop_requested OR r.wakes <> COALESCE(p_wakes, r.wakes) THEN NULL ELSE p_until END
        WHERE r.id = p_run AND r.status = 'running' AND r.attempt = p_attempt AND r.sequence = p_sequence - 1
        RETURNING r.* INTO v;
    IF FOUND THEN
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        IF v.status = 'queued' AND v.not_before IS NULL THEN PERFORM liyagent_notify_queued(); END IF;
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version() FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('waiting', 'queued');
    END IF;
END $$;

-- Wake a run: what it waits for has come. Counted whatever its status, so that one about to sleep does not; one that rests
-- until a time is taken at once.
CREATE FUNCTION liyagent_wake(p_run uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE runs_run r SET wakes = r.wakes + 1,
            status = CASE r.status WHEN 'waiting' THEN 'queued' ELSE r.status END,
            not_before = CASE r.status WHEN 'queued' THEN NULL ELSE r.not_before END
        WHERE r.id = p_run AND r.ended_at IS NULL;
    IF FOUND THEN PERFORM liyagent_notify_queued(); END IF;
END $$;

-- The one decision: approved, rejected, expired or withdrawn, whoever comes first. No row: nothing was changed, and the
-- caller rolls back the wake. `p_digest` is what the decider was shown, '' where nobody decides. The head of a run that
-- ended is locked too: of its events missing, one flush tells. `p_also_approved`: one that was approved, and is not on its
-- way yet, is decided anew. `p_line` is what `approval.decided` tells where somebody decides, tagged; nobody's is made here.
CREATE FUNCTION liyagent_decide(
    p_approval uuid, p_status text, p_by text, p_reason text, p_digest text, p_tells boolean DEFAULT true,
    p_also_approved boolean DEFAULT false, p_line text DEFAULT ''
) RETURNS TABLE (run uuid, waits boolean) LANGUAGE plpgsql AS $$
DECLARE v_run uuid; v approvals_approval; v_head runs_run; v_now timestamptz := liyagent_now();
BEGIN
    SELECT a.run_id INTO v_run FROM approvals_approval a WHERE a.id = p_approval;
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM liyagent_wake(v_run);
    SELECT r.* INTO v_head FROM runs_run r WHERE r.id = v_run FOR NO KEY UPDATE;
    UPDATE approvals_approval a SET status = p_status, decided_at = v_now, decided_by = p_by,
            decision_reason = p_reason,
            settled_reason = CASE WHEN p_status = 'approved' THEN '' ELSE p_reason END
        WHERE a.id = p_approval AND (a.status = 'pending' OR p_also_approved AND a.status = 'approved')
            AND (p_digest = '' OR a.digest = p_digest)
            AND (p_status NOT IN ('approved', 'rejected') OR a.expires_at > v_now)
            AND (p_status <> 'expired' OR a.expires_at <= v_now)
        RETURNING a.* INTO v;
    IF NOT FOUND THEN RETURN; END IF;
    IF p_status <> 'approved' THEN
        PERFORM liyagent_undo_not_made(p_approval,
            CASE p_status WHEN 'expired' THEN 'nobody decided about it in time' ELSE p_status || ' by ' || p_by || ': ' || p_reason END);
    END IF;
    IF v_head.id IS NOT NULL AND p_tells THEN
        PERFORM liyagent_flush_events(v_run, v.correlation_id, v.mission, v_head.recording, v_head.events_missing,
            ARRAY['approval.decided'], ARRAY[CASE p_line WHEN '' THEN liyagent_decided_content(v) ELSE p_line END]);
    END IF;
    RETURN QUERY SELECT v.run_id, v.run_waits;
END $$;

-- In the commit that ends a run: what it waits for is withdrawn, what was approved for it and not made is stale. Returns what
-- `approval.decided` tells of each that was withdrawn.
CREATE FUNCTION liyagent_withdraw(p_run uuid, p_loop text, p_correlation uuid, p_mission text, p_request text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE a approvals_approval; v_told text[] := '{}';
BEGIN
    FOR a IN UPDATE approvals_approval w SET settled_reason = 'the run ended before it was made',
                status = CASE w.status WHEN 'pending' THEN 'withdrawn' ELSE 'stale' END
            WHERE w.run_id = p_run AND w.run_waits AND w.status IN ('pending', 'approved') RETURNING w.* LOOP
        CONTINUE WHEN a.status <> 'withdrawn';
        PERFORM liyagent_audit('agent.approval.withdrawn', 'system', p_mission, p_correlation, p_run, p_request,
            jsonb_build_object('approval', a.id, 'call', a.server || '/' || a.tool, 'step', a.step, 'index', a.index,
                'digest', a.digest, 'reason', a.settled_reason));
        v_told := v_told || liyagent_decided_content(a);
    END LOOP;
    -- A run that was to make an approved call, and ends without having reserved it, leaves it to nobody.
    IF p_loop LIKE 'approved:%' THEN
        UPDATE approvals_approval w SET status = 'stale', settled_reason = 'its run ended before it was made'
            WHERE w.id = substr(p_loop, 10)::uuid AND w.status = 'approved';
    END IF;
    RETURN v_told;
END $$;

-- What `approval.decided` tells, as canonical text (ruling 24): keys in their order, strings as JSON writes them.
CREATE FUNCTION liyagent_decided_content(a approvals_approval) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT '{' || string_agg(to_json(f.name)::text || ':' || f.value, ',' ORDER BY f.name) || '}' FROM (VALUES
        ('approval', to_json(a.id::text)::text), ('by', to_json(a.decided_by)::text),
        ('ceiling', to_json(a.ceiling_digest)::text), ('decision', to_json(a.status)::text),
        ('digest', to_json(a.digest)::text), ('index', a.index::text), ('policy', to_json(a.policy_fingerprint)::text),
        ('run_as', to_json(a.run_as)::text), ('server', to_json(a.server)::text), ('step', a.step::text),
        ('tool', to_json(a.tool)::text)) AS f(name, value)
$$;

-- Reserve an approved call: its mark turns from `held` to `sending`, the approval is consumed, in one commit, before
-- anything leaves (CR-10, CR-29). The key's window counts from here. `seconds_left` is NULL, and nothing is written, where
-- the approval no longer stands, the run was stopped, or the configuration is no longer the one that it was judged by.
-- `p_handoff` as in `liyagent_mark`.
CREATE FUNCTION liyagent_reserve(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_step int, p_index int, p_approval uuid,
    p_key_window int, p_sealed bytea, p_config bigint, p_handoff jsonb DEFAULT NULL
) RETURNS TABLE (stop boolean, config bigint, seconds_left double precision) LANGUAGE plpgsql AS $$
DECLARE v record; v_deadline timestamptz; v_config bigint := liyagent_config_version(); v_now timestamptz := liyagent_now();
BEGIN
    SELECT r.holder, r.stop_requested, r.sequence INTO v FROM runs_run r
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running'
            AND r.sequence IN (p_sequence - 1, p_sequence) FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    IF v.sequence = p_sequence - 1 THEN
        SELECT renew_by INTO v_deadline FROM leases_holder WHERE id = v.holder;
        IF NOT FOUND THEN RETURN; END IF;
        IF NOT v.stop_requested AND v_config = p_config THEN
            UPDATE approvals_approval a SET status = 'consumed', consumed_at = v_now
                WHERE a.id = p_approval AND a.status = 'approved' AND a.expires_at > v_now;
        END IF;
        IF v.stop_requested OR v_config <> p_config OR NOT FOUND THEN
            RETURN QUERY SELECT v.stop_requested, v_config, NULL::double precision;
            RETURN;
        END IF;
        UPDATE runs_run r SET sequence = p_sequence, seal = p_seal WHERE r.id = p_run;
        UPDATE runs_call c SET intent = 'sending', attempt = p_attempt, holder = v.holder, marked_at = v_now,
                deadline = v_deadline, key_window_seconds = p_key_window, sealed = p_sealed
            WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index AND c.fate = '' AND c.intent = 'held'
                AND c.approval_id = p_approval;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'call % of step % of run % is not held for approval %', p_index, p_step, p_run, p_approval;
        END IF;
        IF p_handoff IS NOT NULL THEN PERFORM liyagent_hand(p_handoff); END IF;
    END IF;
    RETURN QUERY SELECT v.stop_requested, v_config,
            extract(epoch FROM c.deadline - liyagent_now())::double precision
        FROM runs_call c WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index
            AND c.attempt = p_attempt AND c.intent = 'sending' AND c.fate = '';
END $$;

-- What was approved is not made: said by the attempt that has the run, and by no other.
CREATE FUNCTION liyagent_spoil(p_run uuid, p_attempt int, p_approval uuid, p_why text)
RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v_stop boolean;
BEGIN
    SELECT r.stop_requested INTO v_stop FROM runs_run r
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    UPDATE approvals_approval a SET status = 'stale', settled_reason = p_why
        WHERE a.id = p_approval AND a.status = 'approved';
    RETURN QUERY SELECT v_stop, liyagent_config_version();
END $$;

-- Requests whose time has passed, each by its own decision. The time is read once: held against a volatile function, every
-- open request would be looked at.
CREATE FUNCTION liyagent_expired_approvals(p_limit int) RETURNS TABLE (approval uuid) LANGUAGE plpgsql STABLE AS $$
DECLARE v_now timestamptz := liyagent_now();
BEGIN
    RETURN QUERY SELECT a.id FROM approvals_approval a WHERE a.status = 'pending' AND a.expires_at <= v_now
        ORDER BY a.expires_at LIMIT p_limit;
END $$;

-- The run that makes a call approved after its own run went on: started with the step already taken, in the decision's
-- own transaction. One a request, by (correlation, loop).
CREATE FUNCTION liyagent_start_approved(
    p_run uuid, p_approval uuid, p_agent_version int, p_recording text, p_format smallint, p_key_id text, p_seal bytea,
    p_start bytea, p_step bytea, p_provider_call_id text, p_step_key text, p_key_window int, p_intent_digest text,
    p_sealed bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE a approvals_approval; v_request text; v_now timestamptz := liyagent_now();
BEGIN
    SELECT * INTO STRICT a FROM approvals_approval WHERE id = p_approval;
    SELECT r.request_id INTO STRICT v_request FROM runs_run r WHERE r.id = a.run_id;
    PERFORM liyagent_start(p_run, a.correlation_id, a.run_id, 'approved:' || a.id, a.agent_key, p_agent_version, a.entry,
        a.mission, v_request, a.requested_by, p_recording, p_format, p_key_id, p_seal, p_start, ''::bytea,
        jsonb_build_object('agent', a.agent_key, 'version', p_agent_version, 'entry', a.entry, 'approval', a.id),
        '[]'::jsonb, liyagent_config_version(), '', '');
    UPDATE runs_run SET model_steps = 1, calls_made = 1, parts = 2 WHERE id = p_run;
    INSERT INTO runs_part (run_id, number, kind, sealed) VALUES (p_run, 1, 'step', p_step);
    INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, approval_id,
            step_key, has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate,
            settlement, late_finding)
        VALUES (p_run, a.correlation_id, 1, 0, p_provider_call_id, a.server, a.tool, 'held', a.id, p_step_key, true,
            p_key_window, p_intent_digest, 0, p_run, v_now, v_now, p_sealed, '', '', '');
    PERFORM liyagent_notify_queued();
END $$;
