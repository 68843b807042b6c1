-- Hand work to a sub-agent: the mark, the child's head and the parent's sleep in one commit (ruling 32). The child is a run
-- of its own under the root's chain, named by the delegation key: asked again, the first is found. Lock order: parent, child.
CREATE FUNCTION liyagent_delegate(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_step int, p_index int, p_provider_call_id text,
    p_server text, p_tool text, p_step_key text, p_has_identity boolean, p_intent_digest text, p_sealed bytea,
    p_child uuid, p_agent_version int, p_recording text, p_format smallint, p_key_id text, p_child_seal bytea,
    p_start bytea, p_acted jsonb, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record; v_holder uuid; v_now timestamptz := liyagent_now();
BEGIN
    SELECT r.holder INTO v_holder FROM runs_run r WHERE r.id = p_run AND r.attempt = p_attempt
        AND r.status = 'running' AND r.sequence = p_sequence - 1 FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE runs_run r SET sequence = p_sequence, seal = p_seal, holder = NULL,
                status = CASE WHEN r.stop_requested THEN 'queued' ELSE 'waiting' END
            WHERE r.id = p_run RETURNING r.* INTO v;
        -- Nothing leaves this house: there is no deadline to wait for.
        INSERT INTO runs_call (run_id, correlation_id, step, index, provider_call_id, server, tool, intent, step_key,
                has_identity, key_window_seconds, intent_digest, attempt, holder, marked_at, deadline, sealed, fate,
                settlement, late_finding)
            VALUES (p_run, v.correlation_id, p_step, p_index, p_provider_call_id, p_server, p_tool, 'sending',
                p_step_key, p_has_identity, 0, p_intent_digest, p_attempt, v_holder, v_now, v_now, p_sealed, '', '', '');
        IF NOT EXISTS (SELECT 1 FROM runs_run c WHERE c.correlation_id = v.correlation_id AND c.loop = p_step_key) THEN
            PERFORM liyagent_start(p_child, v.correlation_id, p_run, p_step_key, p_tool, p_agent_version, v.entry,
                v.mission, v.request_id, v.started_by, p_recording, p_format, p_key_id, p_child_seal, p_start, ''::bytea,
                jsonb_build_object('agent', p_tool, 'version', p_agent_version, 'entry', v.entry, 'parent', p_run),
                p_acted, liyagent_config_version(), '', '');
        END IF;
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        PERFORM liyagent_notify_queued();
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version() FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.sequence = p_sequence
                AND r.status IN ('waiting', 'queued');
    END IF;
END $$;
