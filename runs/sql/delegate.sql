-- Hand work to a sub-agent: the mark, the child's head and the parent's sleep in one commit (ruling 32). The child is a run
-- of its own under the root's chain, named by the delegation key: asked again, the first is found. Lock order, here and
-- wherever a child ends: the parent's head, then the child's.

-- `is_handed` is false where nothing was written: the run was stopped, the configuration is no longer the one that the
-- call was judged by, or its approval (`p_approval`, NULL for a call that nobody had to approve) no longer stands. `p_handoff`
-- is the task as it is handed over (HO-03); a process of the release before says nothing of it.
CREATE FUNCTION liyagent_delegate(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_step int, p_index int, p_provider_call_id text,
    p_server text, p_tool text, p_step_key text, p_has_identity boolean, p_intent_digest text, p_sealed bytea,
    p_config bigint, p_approval uuid, p_child uuid, p_agent_version int, p_recording text, p_format smallint,
    p_key_id text, p_child_seal bytea, p_start bytea, p_acted jsonb, p_kinds text[], p_contents text[],
    p_handoff jsonb DEFAULT NULL
) RETURNS TABLE (stop boolean, config bigint, is_handed boolean) LANGUAGE plpgsql AS $$
DECLARE v record; v_holder uuid; v_now timestamptz := liyagent_now(); v_config bigint;
BEGIN
    SELECT r.holder, r.stop_requested INTO v FROM runs_run r WHERE r.id = p_run AND r.attempt = p_attempt
        AND r.status = 'running' AND r.sequence = p_sequence - 1 FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        -- Asked again after a lost answer: as the first time, as long as nobody has taken the run since.
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version(), true FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('waiting', 'queued');
        RETURN;
    END IF;
    v_config := liyagent_config_version();
    IF v.stop_requested OR v_config <> p_config THEN
        RETURN QUERY SELECT v.stop_requested, v_config, false;
        RETURN;
    END IF;
    v_holder := v.holder;
    IF p_approval IS NOT NULL THEN
        UPDATE approvals_approval a SET status = 'consumed', consumed_at = v_now
            WHERE a.id = p_approval AND a.status = 'approved' AND a.expires_at > v_now;
        IF NOT FOUND THEN
            RETURN QUERY SELECT v.stop_requested, v_config, false;
            RETURN;
        END IF;
    END IF;
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL, status = 'waiting'
        WHERE r.id = p_run RETURNING r.* INTO v;
    -- Nothing leaves this house: there is no deadline to wait for.
    IF p_approval IS NULL THEN
        INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
                has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate,
                settlement, late_finding)
            VALUES (p_run, v.correlation_id, p_step, p_index, p_provider_call_id, p_server, p_tool, 'sending',
                p_step_key, p_has_identity, 0, p_intent_digest, p_attempt, v_holder, v_now, v_now, p_sealed, '', '', '');
    ELSE
        UPDATE runs_call c SET intent = 'sending', attempt = p_attempt, holder = v_holder, marked_at = v_now,
                deadline = v_now, sealed = p_sealed
            WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index AND c.fate = '' AND c.intent = 'held'
                AND c.approval_id = p_approval AND c.step_key = p_step_key;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'call % of step % of run % is not held for approval %', p_index, p_step, p_run, p_approval;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM runs_run c WHERE c.correlation_id = v.correlation_id AND c.loop = p_step_key) THEN
        PERFORM liyagent_start(p_child, v.correlation_id, p_run, p_step_key, p_tool, p_agent_version, v.entry,
            v.mission, v.request_id, v.started_by, p_recording, p_format, p_key_id, p_child_seal, p_start, ''::bytea,
            jsonb_build_object('agent', p_tool, 'version', p_agent_version, 'entry', v.entry, 'parent', p_run),
            p_acted, v_config, '', '');
    END IF;
    IF p_handoff IS NOT NULL THEN PERFORM liyagent_hand(p_handoff); END IF;
    PERFORM liyagent_flush_events(
        p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
    PERFORM liyagent_notify_queued();
    RETURN QUERY SELECT v.stop_requested, v_config, true;
END $$;

-- Start the branches of a step, each a run of its own, and put the parent to sleep, in one commit. `p_children` are their rows;
-- one that is there, by its loop, is left as it is. `is_handed` as in `liyagent_delegate`.
CREATE FUNCTION liyagent_fork(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_config bigint, p_children jsonb, p_seals bytea[],
    p_starts bytea[], p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint, is_handed boolean) LANGUAGE plpgsql AS $$
DECLARE v record; v_config bigint; v_child jsonb; v_index int := 0;
BEGIN
    SELECT r.stop_requested INTO v FROM runs_run r
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1
        FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version(), true FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('waiting', 'queued');
        RETURN;
    END IF;
    v_config := liyagent_config_version();
    IF v_config <> p_config OR v.stop_requested THEN
        RETURN QUERY SELECT v.stop_requested, v_config, false;
        RETURN;
    END IF;
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL, status = 'waiting'
        WHERE r.id = p_run RETURNING r.* INTO v;
    FOR v_child IN SELECT * FROM jsonb_array_elements(p_children) LOOP
        v_index := v_index + 1;
        CONTINUE WHEN EXISTS (SELECT 1 FROM runs_run c
            WHERE c.correlation_id = v.correlation_id AND c.loop = v_child->>'loop');
        PERFORM liyagent_start((v_child->>'id')::uuid, v.correlation_id, p_run, v_child->>'loop', v.agent_key,
            (v_child->>'version')::int, v.entry, v.mission, v.request_id, v.started_by, v.recording,
            (v_child->>'format')::smallint, v_child->>'key_id', p_seals[v_index], p_starts[v_index], ''::bytea,
            jsonb_build_object('agent', v.agent_key, 'version', v_child->'version', 'entry', v.entry, 'parent', p_run,
                'branch', v_child->'branch'),
            '[]'::jsonb, v_config, '', '', p_workflow => v.workflow);
    END LOOP;
    PERFORM liyagent_flush_events(
        p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
    PERFORM liyagent_notify_queued();
    RETURN QUERY SELECT v.stop_requested, v_config, true;
END $$;

-- Go back to sleep while the child is at it: a CASE on the head alone. `p_wakes` was read before the child was looked at,
-- and whoever ends a child adds to it (ruling 39). A stop keeps it no longer awake: the child is stopped in the same
-- commit, and its end wakes the parent, so that a family ends from below.
CREATE FUNCTION liyagent_wait_for_child(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_wakes int, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL,
            status = CASE WHEN r.wakes <> p_wakes THEN 'queued' ELSE 'waiting' END
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

-- What a run that ends otherwise than answered had handed down: its open children are stopped, and each of theirs as it
-- ends. A call that a person approved meanwhile is made by a run of its own, which goes on.
CREATE FUNCTION liyagent_stop_children(p_run uuid, p_correlation uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE runs_run r SET stop_requested = true, not_before = NULL,
            stopped_by = CASE WHEN r.stop_requested THEN r.stopped_by ELSE 'the end of run ' || p_run END,
            status = CASE WHEN r.status IN ('waiting', 'paused') THEN 'queued' ELSE r.status END
        WHERE r.correlation_id = p_correlation AND r.parent_id = p_run AND r.loop NOT LIKE 'approved:%'
            AND r.ended_at IS NULL AND NOT r.stop_requested;
    IF FOUND THEN PERFORM liyagent_notify_queued(); END IF;
END $$;
