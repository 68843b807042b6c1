-- A new run in one statement and one commit (ruling 29): the head as queued, its sealed first part, the head of its event
-- chain, its audit rows, and the client's key where it gave one.
-- `run` is what stands now: this run, or the one that the same key named before (`is_new` is false). It is NULL, and
-- nothing is written, where the configuration is no longer the one that the caller judged by. Asked again with the same
-- run after a lost answer, it answers as the first time.
CREATE FUNCTION liyagent_start(
    p_run uuid, p_correlation uuid, p_parent uuid, p_loop text, p_agent text, p_agent_version int, p_entry text,
    p_mission text, p_request text, p_started_by text, p_recording text, p_format smallint, p_key_id text,
    p_seal bytea, p_sealed bytea, p_genesis bytea, p_detail jsonb, p_acted jsonb, p_config bigint, p_start_key text,
    p_body_digest text, p_written_ahead boolean DEFAULT true,
    p_continues uuid DEFAULT NULL, p_address text DEFAULT '', p_workflow text DEFAULT ''
) RETURNS TABLE (is_new boolean, config bigint, run uuid, correlation uuid, digest text) LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz := liyagent_now(); v_config bigint := liyagent_config_version(); v_detail jsonb;
BEGIN
    IF EXISTS (SELECT 1 FROM runs_run r WHERE r.id = p_run) THEN
        RETURN QUERY SELECT true, v_config, p_run, p_correlation, p_body_digest;
        RETURN;
    END IF;
    IF v_config <> p_config THEN
        RETURN QUERY SELECT false, v_config, NULL::uuid, NULL::uuid, ''::text;
        RETURN;
    END IF;
    IF p_start_key <> '' THEN
        INSERT INTO runs_startkey (owner, agent_key, key, body_digest, run_id, created_at)
            VALUES (p_started_by, p_agent, p_start_key, p_body_digest, p_run, v_now)
            ON CONFLICT ON CONSTRAINT runs_one_start_per_key DO NOTHING;
        IF NOT FOUND THEN
            RETURN QUERY SELECT false, v_config, r.id, r.correlation_id, k.body_digest::text
                FROM runs_startkey k JOIN runs_run r ON r.id = k.run_id
                WHERE k.owner = p_started_by AND k.agent_key = p_agent AND k.key = p_start_key;
            RETURN;
        END IF;
    END IF;
    INSERT INTO runs_run (id, correlation_id, parent_id, loop, agent_key, agent_version, entry, mission, request_id,
            started_by, recording, status, reason, format, key_id, attempt, losses, last_loss, handovers,
            resumes_recorded, sequence, wakes, events_missing, timeline, model_steps, calls_made, input_tokens,
            output_tokens, parts, seal, stop_requested, stopped_by, created_at, is_written_ahead, continues, workflow)
        VALUES (p_run, p_correlation, p_parent, p_loop, p_agent, p_agent_version, p_entry, p_mission, p_request,
            p_started_by, p_recording, 'queued', '', p_format, p_key_id, 0, 0, '', 0,
            0, 0, 0, 0, 0, 0, 0, 0,
            0, 1, p_seal, false, '', v_now, p_written_ahead, p_continues, p_workflow)
        -- On any index: named alone, the id would leave two that start the same run at once to collide on their loop.
        ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT 1 FROM runs_run r WHERE r.id = p_run) THEN
            RAISE unique_violation USING
                MESSAGE = format('run %s is not started: another is in its place', p_run),
                CONSTRAINT = CASE WHEN EXISTS (SELECT 1 FROM runs_run r
                        WHERE r.correlation_id = p_correlation AND r.loop = p_loop)
                    THEN 'runs_one_child_per_delegation' ELSE 'runs_one_continuation' END;
        END IF;
        -- Two that start the same run at once: the other was first.
        RETURN QUERY SELECT true, v_config, p_run, p_correlation, p_body_digest;
        RETURN;
    END IF;
    INSERT INTO runs_part (run_id, number, kind, sealed) VALUES (p_run, 0, 'start', p_sealed);
    -- Looked for first: an insert would wait for whoever tells in that chain just now, and it may wait for this one.
    INSERT INTO events_eventhead (correlation_id, count, hash) SELECT p_correlation, 0, p_genesis
        WHERE NOT EXISTS (SELECT 1 FROM events_eventhead e WHERE e.correlation_id = p_correlation)
        ON CONFLICT (correlation_id) DO NOTHING;
    PERFORM liyagent_audit('agent.run.started', p_started_by, p_mission, p_correlation, p_run, p_request, p_detail,
        p_agent, p_address);
    FOR v_detail IN SELECT * FROM jsonb_array_elements(p_acted) LOOP
        PERFORM liyagent_audit('agent.guardrail', 'agent:' || p_agent, p_mission, p_correlation, p_run, p_request,
            v_detail, p_agent, p_address);
    END LOOP;
    RETURN QUERY SELECT true, v_config, p_run, p_correlation, p_body_digest;
END $$;
