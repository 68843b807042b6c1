-- What a run did that can be undone, kept in the commits of runs. Lock order: heads, requests, calls; then the saga, then its
-- undos; event heads last. `p_saga` is always the root run's id, which is the correlation id of its family.

-- Before the first thing is said of a saga: that, and the end of its run, come one after the other, since neither would see
-- what the other has not committed. Held to the end of the transaction; once there is a row, its lock is enough.
CREATE FUNCTION liyagent_first_of_saga(p_saga uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sagas_saga s WHERE s.id = p_saga) THEN
        PERFORM pg_advisory_xact_lock(7246, hashtext(p_saga::text));
    END IF;
END $$;

-- The saga of a family, made with the first thing that is to be said of it, under the root's agent and mission.
CREATE FUNCTION liyagent_saga(p_saga uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_first_of_saga(p_saga);
    INSERT INTO sagas_saga (id, agent_key, workflow, mission, status, cause, failed_step, registered, round, handoff,
            handoff_id, key_id, closed_by, closed_reason, created_at, changed_at)
        SELECT r.id, r.agent_key, r.workflow, r.mission, 'open', '', '', 0, 0, '', '', '', '', '', liyagent_now(), liyagent_now()
            FROM runs_run r WHERE r.id = p_saga
        ON CONFLICT (id) DO NOTHING;
    PERFORM 1 FROM sagas_saga s WHERE s.id = p_saga FOR NO KEY UPDATE;
END $$;

-- The first thing that is to be said of a saga may come when its run has ended: a person let a write out then, or one is found
-- late. It stands as if that had been said before: closed where the run answered, else to be handed off.
CREATE FUNCTION liyagent_late_saga(p_saga uuid, p_handoff text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE r runs_run; v_mission text;
BEGIN
    SELECT h.* INTO r FROM runs_run h WHERE h.id = p_saga AND h.ended_at IS NOT NULL;
    IF NOT FOUND THEN RETURN; END IF;
    IF r.status <> 'answered' THEN
        UPDATE sagas_saga s SET cause = CASE WHEN r.status = 'stopped' THEN 'stopped' WHEN r.error = 'approval.rejected'
                THEN 'rejected' WHEN r.error LIKE 'cap.%' THEN 'cap' ELSE 'failed' END,
                handoff = p_handoff, changed_at = liyagent_now()
            WHERE s.id = p_saga AND s.status = 'open' AND s.cause = '';
        IF FOUND THEN PERFORM liyagent_judge_saga(p_saga); END IF;
        RETURN;
    END IF;
    UPDATE sagas_saga s SET status = 'closed', closed_reason = 'its run answered', closed_at = liyagent_now(),
            changed_at = liyagent_now()
        WHERE s.id = p_saga AND s.status = 'open' RETURNING s.mission INTO v_mission;
    IF FOUND THEN
        PERFORM liyagent_audit('saga.closed', 'liyagent', v_mission, p_saga, p_saga, '',
            jsonb_build_object('reason', 'its run answered'), r.agent_key);
    END IF;
END $$;

-- In the commit that settles a write: its undo, with the arguments that were fixed there (SG-03). `p_undo` names server, tool,
-- key, key_id and what could not be resolved (`missing`); none of them where the write itself is of unknown outcome: then the
-- saga alone is made, so that it is listed there. `handoff`: how it goes to a person if its run has ended by now. Asked again for the same call it does nothing.
CREATE FUNCTION liyagent_register_undo(
    p_saga uuid, p_run uuid, p_step int, p_index int, p_undo jsonb, p_sealed bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_order int; v_call runs_call; v_head runs_run;
BEGIN
    PERFORM liyagent_saga(p_saga);
    PERFORM liyagent_late_saga(p_saga, COALESCE(p_undo->>'handoff', ''));
    IF NOT p_undo ? 'key' OR EXISTS (SELECT 1 FROM sagas_undo u WHERE u.run_id = p_run AND u.step = p_step AND u.index = p_index)
        THEN RETURN; END IF;
    SELECT r.* INTO STRICT v_head FROM runs_run r WHERE r.id = p_run;
    SELECT c.* INTO STRICT v_call FROM runs_call c WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index;
    UPDATE sagas_saga s SET registered = s.registered + 1, changed_at = liyagent_now() WHERE s.id = p_saga
        RETURNING s.registered INTO v_order;
    INSERT INTO sagas_undo (saga_id, "order", run_id, step, index, agent_key, of_server, of_tool, server, tool, key, sealed,
            key_id, fate, tries, note, registered_at)
        VALUES (p_saga, v_order, p_run, p_step, p_index, p_undo->>'agent', v_call.server, v_call.tool, p_undo->>'server',
            p_undo->>'tool', p_undo->>'key', p_sealed, p_undo->>'key_id',
            CASE WHEN p_undo->>'missing' = '' THEN 'owed' ELSE 'missing' END, 0, left(p_undo->>'missing', 500), liyagent_now());
    PERFORM liyagent_audit('saga.registered', 'agent:' || v_head.agent_key, v_head.mission, p_saga, p_run, v_head.request_id,
        jsonb_build_object('order', v_order, 'of', v_call.server || '/' || v_call.tool, 'step', p_step, 'index', p_index,
            'undo', (p_undo->>'server') || '/' || (p_undo->>'tool'), 'key', p_undo->>'key', 'missing', p_undo->>'missing'));
    PERFORM liyagent_judge_saga(p_saga);
END $$;

-- Where a saga stands, by what became of its undos; one that was closed stays so. No write of unknown outcome is undone,
-- whatever else is (ruling 34). A row of the audit log tells when all is undone (SG-12).
CREATE FUNCTION liyagent_judge_saga(p_saga uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v sagas_saga; v_status text; v_all bigint; v_done bigint;
BEGIN
    SELECT s.* INTO v FROM sagas_saga s WHERE s.id = p_saga FOR NO KEY UPDATE;
    IF NOT FOUND OR v.status = 'closed' THEN RETURN v.status; END IF;
    -- While a round is at it, its end will judge.
    IF v.status = 'compensating' AND EXISTS (
        SELECT 1 FROM runs_run r WHERE r.id = v.compensating_run AND r.ended_at IS NULL) THEN RETURN v.status; END IF;
    SELECT count(*), count(*) FILTER (WHERE u.fate = 'done') INTO v_all, v_done FROM sagas_undo u WHERE u.saga_id = p_saga;
    v_status := CASE
        WHEN EXISTS (SELECT 1 FROM runs_run r WHERE r.id = v.compensating_run AND r.ended_at IS NULL) THEN 'compensating'
        WHEN v.cause = '' THEN 'open'
        WHEN v.round = 0 THEN 'handed_off'
        WHEN v_done = v_all AND NOT liyagent_has_unknown(p_saga) THEN 'compensated'
        ELSE 'partial' END;
    -- A person stopped it, or said no: where nothing is left of it there is nothing to hand to anybody.
    UPDATE sagas_saga s SET status = v_status, changed_at = liyagent_now(),
            handoff = CASE WHEN v_status = 'compensated' AND s.cause IN ('stopped', 'rejected') AND s.handed_off_at IS NULL
                THEN 'none' ELSE s.handoff END
        WHERE s.id = p_saga;
    IF v_status = 'compensated' AND v.status <> 'compensated' THEN
        PERFORM liyagent_audit('saga.compensated', 'liyagent', v.mission, p_saga, p_saga, '',
            jsonb_build_object('undos', v_all, 'round', v.round), v.agent_key);
    END IF;
    RETURN v_status;
END $$;

-- Whether a write of the family may have happened and nobody can tell.
CREATE FUNCTION liyagent_has_unknown(p_saga uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM runs_call c WHERE c.correlation_id = p_saga AND c.fate = 'unknown' AND c.late_finding <> 'found')
$$;

-- In the commit that ends a root run otherwise than answered: why, and the run that undoes what is owed. `p_saga_facts` says
-- cause, failed_step, whether to compensate, how it goes to a person (`handoff`), whether it does even if nothing was
-- registered (`always`), and the key of `p_context`. `p_child` is that run's row as `liyagent_start` takes it.
CREATE FUNCTION liyagent_fail_saga(
    p_saga uuid, p_facts jsonb, p_context bytea, p_child jsonb, p_seal bytea, p_start bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_owed boolean;
BEGIN
    IF (p_facts->>'always')::boolean THEN PERFORM liyagent_saga(p_saga); END IF;
    UPDATE sagas_saga s SET cause = p_facts->>'cause', failed_step = left(p_facts->>'failed_step', 80),
            handoff = p_facts->>'handoff', context = p_context, key_id = COALESCE(p_facts->>'key_id', ''),
            changed_at = liyagent_now()
        WHERE s.id = p_saga AND s.status = 'open';
    IF NOT FOUND THEN RETURN; END IF;
    SELECT EXISTS (SELECT 1 FROM sagas_undo u WHERE u.saga_id = p_saga AND u.fate = 'owed') INTO v_owed;
    IF v_owed AND (p_facts->>'compensate')::boolean THEN
        PERFORM liyagent_start_undo(p_saga, 'liyagent', p_facts->>'cause', p_child, p_seal, p_start);
    END IF;
    PERFORM liyagent_judge_saga(p_saga);
END $$;

-- Start the run of the next round, a child of the root: one at a time, by (correlation, loop).
CREATE FUNCTION liyagent_start_undo(
    p_saga uuid, p_by text, p_reason text, p_child jsonb, p_seal bytea, p_start bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_round int; r runs_run; v_undos bigint;
BEGIN
    SELECT h.* INTO STRICT r FROM runs_run h WHERE h.id = p_saga;
    UPDATE sagas_saga s SET round = s.round + 1, compensating_run = (p_child->>'id')::uuid WHERE s.id = p_saga
        RETURNING s.round INTO v_round;
    PERFORM liyagent_start((p_child->>'id')::uuid, p_saga, p_saga, 'undo:' || v_round, p_child->>'agent',
        (p_child->>'version')::int, r.entry, r.mission, r.request_id, r.started_by, r.recording,
        (p_child->>'format')::smallint, p_child->>'key_id', p_seal, p_start, ''::bytea,
        jsonb_build_object('agent', r.agent_key, 'entry', r.entry, 'undoes', p_saga, 'round', v_round),
        '[]'::jsonb, liyagent_config_version(), '', '');
    SELECT count(*) INTO v_undos FROM sagas_undo u WHERE u.saga_id = p_saga AND u.fate IN ('owed', 'failed');
    PERFORM liyagent_audit('saga.compensating', p_by, r.mission, p_saga, p_saga, r.request_id,
        jsonb_build_object('round', v_round, 'run', p_child->>'id', 'undos', v_undos, 'reason', p_reason), r.agent_key);
    PERFORM liyagent_notify_queued();
END $$;

-- What came of an undo: told once for each change, with the sendings that it took.
CREATE FUNCTION liyagent_undo_came(p_undo bigint, p_fate text, p_tries int, p_approval uuid, p_outcome bytea, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE u sagas_undo; s sagas_saga;
BEGIN
    SELECT o.* INTO u FROM sagas_undo o WHERE o.id = p_undo;
    SELECT o.* INTO s FROM sagas_saga o WHERE o.id = u.saga_id FOR NO KEY UPDATE;
    UPDATE sagas_undo o SET fate = p_fate, tries = p_tries, approval = COALESCE(p_approval, o.approval),
            outcome = COALESCE(p_outcome, o.outcome), note = left(p_note, 500), settled_at = liyagent_now()
        WHERE o.id = p_undo AND o.fate <> 'done'
            AND ((o.fate, o.tries, o.note) IS DISTINCT FROM (p_fate, p_tries, left(p_note, 500))
                -- A round that comes to what the one before came to tells so all the same (SG-12).
                OR o.settled_at < (SELECT r.created_at FROM runs_run r WHERE r.id = s.compensating_run));
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM liyagent_audit('saga.compensation', 'liyagent', s.mission, u.saga_id, u.saga_id, '',
        jsonb_build_object('order', u."order", 'undo', u.server || '/' || u.tool, 'of', u.of_server || '/' || u.of_tool,
            'key', u.key, 'outcome', p_fate, 'tries', p_tries, 'approval', COALESCE(p_approval, u.approval), 'note', left(p_note, 500)),
        s.agent_key);
    PERFORM liyagent_judge_saga(u.saga_id);
END $$;

-- A call that was an undo, held or of unknown outcome, came to this elsewhere: by the run of its approval, a person, a late look.
CREATE FUNCTION liyagent_undo_found(p_run uuid, p_step int, p_index int, p_fate text, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE u sagas_undo; c runs_call;
BEGIN
    SELECT o.* INTO c FROM runs_call o WHERE o.run_id = p_run AND o.step = p_step AND o.index = p_index;
    SELECT o.* INTO u FROM sagas_undo o WHERE c.approval_id IS NOT NULL AND o.approval = c.approval_id;
    IF NOT FOUND THEN SELECT o.* INTO u FROM sagas_undo o WHERE o.key = c.step_key; END IF;
    IF NOT FOUND OR u.fate NOT IN ('held', 'unknown') THEN RETURN; END IF;
    PERFORM liyagent_undo_came(u.id, p_fate, u.tries, NULL, NULL, p_note);
END $$;

-- What an undo was held for will not be made: it is still owed, and a person knows why it was not.
CREATE FUNCTION liyagent_undo_not_made(p_approval uuid, p_why text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_undo bigint; v_tries int;
BEGIN
    SELECT u.id, u.tries INTO v_undo, v_tries FROM sagas_undo u WHERE u.approval = p_approval AND u.fate = 'held';
    IF FOUND THEN PERFORM liyagent_undo_came(v_undo, 'failed', v_tries, NULL, NULL, p_why); END IF;
END $$;

-- A round that has ended tells what came of its last call where it had not come to: who ended it may not have been able to
-- open it, or was not let on. What was still on its way is of unknown outcome.
CREATE FUNCTION liyagent_undo_left(p_run uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_undo_came(l.id, l.came, l.sent, NULL, NULL, '')
        FROM (SELECT u.id, u.fate, u.tries, CASE c.fate WHEN 'refused' THEN 'failed' ELSE c.fate END AS came,
                    liyagent_undo_tries(c.provider_call_id) AS sent
                FROM runs_run r JOIN runs_call c ON c.run_id = r.id AND c.step = r.model_steps
                    JOIN sagas_undo u ON u.key = c.step_key
                WHERE r.id = p_run AND c.fate IN ('done', 'failed', 'refused', 'unknown')) l
        WHERE l.fate IN ('owed', 'failed') AND (l.fate, l.tries) IS DISTINCT FROM (l.came, l.sent);
END $$;

-- Which sending of its undo a round's call is, by its id: `undo-ORDER-TRY` (runs/undo_mind.py).
CREATE FUNCTION liyagent_undo_tries(p_provider_call_id text) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT split_part(p_provider_call_id, '-', 3)::int
$$;

-- In the commit that settles a round's call: an undo that was made is done from then on (SG-06).
CREATE FUNCTION liyagent_undo_made(p_run uuid, p_step int, p_index int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_undo_came(u.id, 'done', liyagent_undo_tries(c.provider_call_id), NULL, NULL, '')
        FROM runs_call c JOIN sagas_undo u ON u.key = c.step_key
        WHERE c.run_id = p_run AND c.step = p_step AND c.index = p_index;
END $$;

-- In the commit that ends a run. A root that failed is compensated; one that was answered keeps what it did. A round's end, and
-- that of a run which was to make a held undo, say where the saga stands.
CREATE FUNCTION liyagent_end_saga(
    p_run uuid, p_saga uuid, p_loop text, p_status text, p_reason text, p_facts jsonb, p_context bytea, p_seal bytea,
    p_start bytea
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE s sagas_saga;
BEGIN
    IF p_run = p_saga THEN PERFORM liyagent_first_of_saga(p_saga); END IF;
    -- A write that could be undone may have happened, and nobody will settle it any more: its saga lists it.
    IF (p_facts->>'unknown')::boolean THEN PERFORM liyagent_saga(p_saga); END IF;
    IF p_run = p_saga AND p_status = 'answered' THEN
        UPDATE sagas_saga o SET status = 'closed', closed_reason = 'its run answered', closed_at = liyagent_now(),
                changed_at = liyagent_now()
            WHERE o.id = p_saga AND o.status = 'open' RETURNING o.* INTO s;
        IF FOUND THEN
            PERFORM liyagent_audit('saga.closed', 'liyagent', s.mission, p_saga, p_saga, '',
                jsonb_build_object('reason', s.closed_reason), s.agent_key);
        END IF;
    ELSIF p_run = p_saga AND p_facts ? 'cause' THEN
        PERFORM liyagent_fail_saga(p_saga, p_facts, p_context, p_facts->'child', p_seal, p_start);
    ELSIF p_run = p_saga THEN
        -- Ended by a process of the release before, which says nothing of it: for a person to look at.
        UPDATE sagas_saga o SET cause = 'failed', handoff = 'approval', changed_at = liyagent_now()
            WHERE o.id = p_saga AND o.status = 'open';
        PERFORM liyagent_judge_saga(p_saga);
    ELSIF p_loop LIKE 'undo:%' THEN
        PERFORM liyagent_undo_left(p_run);
        PERFORM liyagent_judge_saga(p_saga);
    ELSIF p_loop LIKE 'approved:%' THEN
        -- What it had sent may have been made.
        PERFORM liyagent_undo_found(c.run_id, c.step, c.index, 'unknown', '') FROM runs_call c
            WHERE c.run_id = p_run AND c.fate = 'unknown';
        PERFORM liyagent_undo_not_made(substr(p_loop, 10)::uuid, p_reason);
    END IF;
END $$;

-- An attempt of the round that has it tells what came of an undo. One that is held was told in the commit that filed it, one
-- that was made in the commit that settled it.
CREATE FUNCTION liyagent_undo_told(
    p_run uuid, p_attempt int, p_sequence bigint, p_seal bytea, p_undo bigint, p_fate text, p_tries int, p_outcome bytea,
    p_note text, p_kinds text[], p_contents text[]
) RETURNS TABLE (stop boolean, config bigint) LANGUAGE plpgsql AS $$
DECLARE v record;
BEGIN
    UPDATE runs_run r SET sequence = p_sequence, seal = p_seal
        WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence - 1
        RETURNING r.* INTO v;
    IF FOUND THEN
        IF p_fate <> 'held' THEN PERFORM liyagent_undo_came(p_undo, p_fate, p_tries, NULL, p_outcome, p_note); END IF;
        PERFORM liyagent_flush_events(
            p_run, v.correlation_id, v.mission, v.recording, v.events_missing, p_kinds, p_contents);
        RETURN QUERY SELECT v.stop_requested, liyagent_config_version();
    ELSE
        RETURN QUERY SELECT r.stop_requested, liyagent_config_version() FROM runs_run r
            WHERE r.id = p_run AND r.attempt = p_attempt AND r.status = 'running' AND r.sequence = p_sequence;
    END IF;
END $$;

-- A late look found a write: one of its undos is made by that, or what it did is owed to be undone.
CREATE FUNCTION liyagent_found_late(p_saga uuid, p_run uuid, p_step int, p_index int, p_undo jsonb, p_sealed bytea)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_undo IS NOT NULL THEN
        PERFORM liyagent_undo_found(p_run, p_step, p_index, 'done', 'a late look found it');
        IF p_undo ? 'key' THEN PERFORM liyagent_register_undo(p_saga, p_run, p_step, p_index, p_undo, p_sealed); END IF;
    END IF;
    PERFORM liyagent_judge_saga(p_saga);
END $$;
