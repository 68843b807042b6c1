-- The writes of an attempt. Each locks and matches the head (run, attempt, running) and the next sequence in
-- its first statement; what follows reads from that RETURNING. Asked again with the same sequence after a lost
-- answer, each answers as the first time and writes nothing. No row back: the lease is lost (ruling 5).

-- Flush events in the commit of the step, never at its cost (EV-07): a failure or a wait of 100 ms rolls back
-- the events alone, is counted on the head, and becomes a `gap` event of the next flush (ruling 18).
CREATE FUNCTION liyagent_flush_events(
    p_run uuid, p_correlation uuid, p_mission text, p_recording text, p_missing int, p_kinds text[], p_contents text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_timeout text := current_setting('lock_timeout');
BEGIN
    IF cardinality(p_kinds) = 0 THEN RETURN; END IF;
    BEGIN
        PERFORM set_config('lock_timeout', '100ms', true);
        IF p_missing > 0 THEN
            PERFORM liyagent_append_events(p_correlation, p_run, p_mission, p_recording,
                ARRAY['gap'], ARRAY[format('{"missing":%s}', p_missing)]);
            UPDATE runs_run SET events_missing = 0 WHERE id = p_run;
        END IF;
        PERFORM liyagent_append_events(p_correlation, p_run, p_mission, p_recording, p_kinds, p_contents);
        PERFORM set_config('lock_timeout', v_timeout, true);
    EXCEPTION WHEN OTHERS THEN
        UPDATE runs_run SET events_missing = p_missing + cardinality(p_kinds) WHERE id = p_run;
        RAISE WARNING 'liyagent: % events of run % dropped: %', cardinality(p_kinds), p_run, SQLERRM;
    END;
END $$;

-- What every hot statement tells its attempt.
CREATE FUNCTION liyagent_config_version() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT version FROM agents_configversion WHERE id = 1
$$;

-- The timeline that the server writes on: it rises when a standby is promoted (ruling 40). Not pg_control_checkpoint(),
-- which tells the old one until the first checkpoint after. 0 where it cannot be told.
CREATE FUNCTION liyagent_timeline() RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF pg_is_in_recovery() THEN RETURN 0; END IF;
    RETURN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_function THEN
    RETURN 0;
END $$;

-- A model step that asked for calls: the conversation's new part, counters and seal, before any call (CR-09). The head
-- keeps the timeline of its last step alone: a resume that sees another does not trust that no mark of it was lost.
CREATE FUNCTION liyagent_step(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_steps int, p_calls int,
    p_input_tokens bigint, p_output_tokens bigint, p_cost bigint, p_part int, p_sealed bytea, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run SET sequence = p_sequence, seal = p_seal, model_steps = p_steps, calls_made = p_calls,
            input_tokens = p_input_tokens, output_tokens = p_output_tokens, cost_micros = p_cost, parts = p_part + 1,
            timeline = liyagent_timeline()
        WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1
        RETURNING correlation_id, mission, recording, events_missing, stop_requested INTO v;
    IF FOUND THEN
        INSERT INTO runs_part (run_id, number, kind, sealed) VALUES (p_run, p_part, 'step', p_sealed);
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence;
    END IF;
END $$;

-- A call in doubt, just before it leaves (CR-10). The deadline is the holder's at this moment and the mark's own
-- for good (ruling 6). `same_intent` names an earlier call of unknown outcome, or one of which a person said that it
-- happened, under this correlation id with the same tool and arguments: then nothing is marked (ruling 8). `p_handoff` is what
-- is handed over by the call, NULL for one that hands nothing over (HO-03, handoffs/sql/handoff.sql).
CREATE FUNCTION liyagent_mark(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_step int, p_index int, p_provider_call_id text,
    p_server text, p_tool text, p_step_key text, p_has_identity boolean, p_key_window int, p_intent_digest text,
    p_sealed bytea, p_handoff jsonb DEFAULT NULL
) RETURNS TABLE (stop boolean, config bigint, seconds_left double precision, same_intent bigint)
LANGUAGE plpgsql AS $$
DECLARE v record; v_same bigint; v_deadline timestamptz;
BEGIN
    SELECT correlation_id, holder, stop_requested, sequence INTO v FROM runs_run
        WHERE id = p_run AND attempt = p_attempt AND status = 'running'
            AND sequence IN (p_sequence - 1, p_sequence) FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    IF v.sequence = p_sequence - 1 THEN
        SELECT id INTO v_same FROM runs_call
            WHERE correlation_id = v.correlation_id AND intent_digest = p_intent_digest AND fate = 'unknown'
                AND late_finding <> 'found'
                AND NOT (run_id = p_run AND step = p_step AND index = p_index)
                -- What a person approved was approved with that in sight.
                AND NOT EXISTS (SELECT 1 FROM runs_call own WHERE own.run_id = p_run AND own.step = p_step
                    AND own.index = p_index AND own.approval_id IS NOT NULL)
            ORDER BY id LIMIT 1;
        IF NOT FOUND THEN
            -- It did happen, as a person found: its run was told that nobody knows, and may ask for it again.
            SELECT id INTO v_same FROM runs_call
                WHERE correlation_id = v.correlation_id AND intent_digest = p_intent_digest AND fate = 'done'
                    AND settlement = 'by_person' AND NOT (run_id = p_run AND step = p_step AND index = p_index)
                    AND NOT EXISTS (SELECT 1 FROM runs_call own WHERE own.run_id = p_run AND own.step = p_step
                        AND own.index = p_index AND own.approval_id IS NOT NULL)
                ORDER BY id LIMIT 1;
        END IF;
        IF FOUND THEN
            RETURN QUERY SELECT v.stop_requested, liyagent_config_version(), 0::double precision, v_same;
            RETURN;
        END IF;
        SELECT renew_by INTO v_deadline FROM leases_holder WHERE id = v.holder;
        IF NOT FOUND THEN RETURN; END IF;
        UPDATE runs_run SET sequence = p_sequence, seal = p_seal
            WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1;
        INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent,
                step_key, has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline,
                sealed, fate, settlement, late_finding)
            VALUES (p_run, v.correlation_id, p_step, p_index, p_provider_call_id, p_server, p_tool, 'sending',
                p_step_key, p_has_identity, p_key_window, p_intent_digest, p_attempt, v.holder, liyagent_now(),
                v_deadline, p_sealed, '', '', '')
            ON CONFLICT (run_id, step, index) DO UPDATE SET attempt = EXCLUDED.attempt, holder = EXCLUDED.holder,
                deadline = EXCLUDED.deadline
                WHERE runs_call.fate = '';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'call % of step % of run % is settled: not marked again', p_index, p_step, p_run;
        END IF;
        IF p_handoff IS NOT NULL THEN PERFORM liyagent_hand(p_handoff); END IF;
    END IF;
    RETURN QUERY SELECT v.stop_requested, liyagent_config_version(),
            extract(epoch FROM c.deadline - liyagent_now())::double precision, NULL::bigint
        FROM runs_call c WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index
            AND c.attempt = p_attempt AND c.fate = '';
END $$;

-- What a marked write came back with, kept in the commit that tells of it (ruling 17), with how it is undone: `p_undo` NULL
-- where nothing was declared (sagas/sql/saga.sql). An undo that a person let out is settled as such in the same commit.
-- `p_handoff` is what came back of what the call handed over, NULL where it handed nothing over.
CREATE FUNCTION liyagent_settle(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_step int, p_index int, p_fate text,
    p_settlement text, p_outcome bytea, p_late_look_seconds double precision, p_action text, p_detail jsonb,
    p_kinds text[], p_contents text[], p_undo jsonb DEFAULT NULL, p_undo_sealed bytea DEFAULT NULL,
    p_handoff jsonb DEFAULT NULL
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run SET sequence = p_sequence, seal = p_seal
        WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1
        RETURNING correlation_id, mission, recording, events_missing, stop_requested, agent_key, request_id, loop AS own_loop
        INTO v;
    IF FOUND THEN
        UPDATE runs_call SET fate = p_fate, settlement = p_settlement, outcome = p_outcome,
                settled_at = liyagent_now(), late_look_at = liyagent_now() + make_interval(secs => p_late_look_seconds)
            WHERE run_id = p_run AND step = p_step AND index = p_index AND fate = '';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'call % of step % of run % is not open: not settled', p_index, p_step, p_run;
        END IF;
        IF p_undo IS NOT NULL THEN
            PERFORM liyagent_register_undo(v.correlation_id, p_run, p_step, p_index, p_undo, p_undo_sealed);
        END IF;
        IF p_handoff IS NOT NULL THEN PERFORM liyagent_hand(p_handoff); END IF;
        IF p_fate = 'done' AND v.own_loop LIKE 'undo:%' THEN PERFORM liyagent_undo_made(p_run, p_step, p_index); END IF;
        IF v.own_loop LIKE 'approved:%' THEN
            PERFORM liyagent_undo_found(p_run, p_step, p_index, CASE p_fate WHEN 'refused' THEN 'failed' ELSE p_fate END, '');
        END IF;
        IF p_action <> '' THEN
            PERFORM liyagent_audit(p_action, 'agent:' || v.agent_key, v.mission, v.correlation_id, p_run,
                v.request_id, p_detail);
        END IF;
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence;
    END IF;
END $$;

-- Events (and an audit row) alone: a resume tells how it settles each call before it does so (CR-19), once a
-- loss: `p_resumes` is how many losses it has now told of.
CREATE FUNCTION liyagent_flush(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_resumes int, p_action text, p_detail jsonb,
    p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run SET sequence = p_sequence, seal = p_seal, resumes_recorded = p_resumes
        WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1
        RETURNING correlation_id, mission, recording, events_missing, stop_requested, agent_key, request_id INTO v;
    IF FOUND THEN
        IF p_action <> '' THEN
            PERFORM liyagent_audit(p_action, 'agent:' || v.agent_key, v.mission, v.correlation_id, p_run,
                v.request_id, p_detail);
        END IF;
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence;
    END IF;
END $$;

-- The end, in one commit: status, transcript, audit, last events; open marks become unknown with a late look
-- (ruling 9), those that were held stay held, and what the run waits for is withdrawn, and told so. Parts go, but those of
-- a run recorded in full: they are its transcript. A task that was refused is not kept at all. `p_saga` says how a root
-- run's writes are undone, where it ended otherwise than answered; NULL for any other.
CREATE FUNCTION liyagent_finish(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_status text, p_reason text, p_error text,
    p_steps int, p_calls int, p_input_tokens bigint, p_output_tokens bigint, p_cost bigint, p_transcript bytea,
    p_late_look_seconds double precision, p_action text, p_detail jsonb, p_kinds text[], p_contents text[],
    p_saga jsonb DEFAULT NULL, p_context bytea DEFAULT NULL, p_undo_seal bytea DEFAULT NULL, p_undo_start bytea DEFAULT NULL
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record; v_parent uuid; v_withdrawn text[];
BEGIN
    -- Whoever waits for this run is woken in its last commit; the parent's head is locked before the child's.
    SELECT r.parent_id INTO v_parent FROM runs_run r
        WHERE r.id = p_run AND r.parent_id IS NOT NULL AND r.loop NOT LIKE 'approved:%';
    IF FOUND THEN PERFORM 1 FROM runs_run r WHERE r.id = v_parent FOR NO KEY UPDATE; END IF;
    UPDATE runs_run SET sequence = p_sequence, seal = p_seal, status = p_status, reason = p_reason,
            error = p_error, model_steps = p_steps, calls_made = p_calls, input_tokens = p_input_tokens,
            output_tokens = p_output_tokens, cost_micros = p_cost, holder = NULL, ended_at = liyagent_now(),
            parts = CASE WHEN recording = 'full' AND p_error <> 'guardrail.input' THEN parts ELSE 0 END
        WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1
        RETURNING correlation_id, mission, recording, events_missing, stop_requested, agent_key, request_id, key_id, loop AS own_loop
        INTO v;
    IF FOUND THEN
        -- One that is answered has heard of all that it handed down.
        IF p_status <> 'answered' THEN PERFORM liyagent_stop_children(p_run, v.correlation_id); END IF;
        v_withdrawn := liyagent_withdraw(p_run, v.own_loop, v.correlation_id, v.mission, v.request_id);
        IF cardinality(v_withdrawn) > 0 AND cardinality(p_kinds) > 0 THEN
            p_kinds := array_fill('approval.decided'::text, ARRAY[cardinality(v_withdrawn)]) || p_kinds;
            p_contents := v_withdrawn || p_contents;
        END IF;
        -- What became of work that was handed down stands in the child's own run: nothing of it is unknown.
        UPDATE runs_call SET settlement = 'run_ended', settled_at = liyagent_now(),
                fate = CASE WHEN intent = 'held' THEN 'held' WHEN server IN ('agents', 'workflow') THEN 'failed'
                    ELSE 'unknown' END,
                late_look_at = CASE WHEN intent = 'sending' AND server NOT IN ('agents', 'workflow')
                    THEN liyagent_now() + make_interval(secs => p_late_look_seconds) END
            WHERE run_id = p_run AND fate = '';
        IF v_parent IS NOT NULL THEN PERFORM liyagent_wake(v_parent); END IF;
        INSERT INTO transcripts_transcript (run_id, correlation_id, sealed, key_id, created_at)
            SELECT p_run, v.correlation_id, p_transcript, v.key_id, liyagent_now() WHERE p_transcript IS NOT NULL;
        DELETE FROM runs_part WHERE run_id = p_run AND (v.recording <> 'full' OR p_error = 'guardrail.input');
        IF p_action <> '' THEN
            PERFORM liyagent_audit(p_action, 'agent:' || v.agent_key, v.mission, v.correlation_id, p_run,
                v.request_id, p_detail);
        END IF;
        PERFORM liyagent_end_saga(p_run, v.correlation_id, v.own_loop, p_status, p_reason, p_saga, p_context, p_undo_seal,
            p_undo_start);
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT stop_requested, liyagent_config_version() FROM runs_run
            WHERE id = p_run AND attempt = p_attempt AND status = p_status AND sequence = p_sequence;
    END IF;
END $$;
