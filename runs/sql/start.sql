-- A new run in one statement: the head as queued, its sealed first part, the head of its event chain, its audit
-- row. The caller's transaction makes them one commit with what else belongs to the start (ruling 29).
CREATE FUNCTION liyagent_start(
    p_run uuid, p_correlation uuid, p_parent uuid, p_loop text, p_agent text, p_agent_version int, p_entry text,
    p_mission text, p_request text, p_started_by text, p_recording text, p_format smallint, p_key_id text,
    p_seal bytea, p_sealed bytea, p_genesis bytea, p_detail jsonb
) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := liyagent_now();
BEGIN
    INSERT INTO runs_run (id, correlation_id, parent_id, loop, agent_key, agent_version, entry, mission, request_id,
            started_by, recording, status, reason, format, key_id, attempt, losses, last_loss, handovers,
            resumes_recorded, sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens,
            output_tokens, parts, seal, stop_requested, stopped_by, created_at)
        VALUES (p_run, p_correlation, p_parent, p_loop, p_agent, p_agent_version, p_entry, p_mission, p_request,
            p_started_by, p_recording, 'queued', '', p_format, p_key_id, 0, 0, '', 0,
            0, 0, 0, 0, 0, 0, 0, 0,
            0, 1, p_seal, false, '', v_now);
    INSERT INTO runs_part (run_id, number, kind, sealed) VALUES (p_run, 0, 'start', p_sealed);
    INSERT INTO events_eventhead (correlation_id, count, hash) VALUES (p_correlation, 0, p_genesis)
        ON CONFLICT (correlation_id) DO NOTHING;
    PERFORM liyagent_audit('agent.run.started', p_started_by, p_mission, p_correlation, p_run, p_request, p_detail);
    RETURN v_now;
END $$;
