-- A person says what happened to a write that nobody could tell of (rulings 7, 8). Lock order: heads in the order of
-- their ids, requests, the call; event heads last.

-- Settle a call of unknown outcome: one conditional update, whoever comes first. An unsettled mark is its run's own: that
-- attempt's next write settles it, and its head's seal names it. No row: nothing was changed. `p_key_id` is the key that
-- `p_outcome` is sealed with; a run that was sealed anew meanwhile is left alone. Where the call happened, requests that
-- wait because of it are withdrawn and their runs woken, those too that somebody approved of what nobody knew then and that
-- are not on their way yet; where it did not they stay with those who decide: `waiting`.
-- Before the mark's own deadline nobody knows that it did not: a process that stalls may still send (`tests/model/in_flight.pml`).
-- One that was proven dead has no row any more.
CREATE FUNCTION liyagent_settle_by_person(
    p_call bigint, p_fate text, p_outcome bytea, p_key_id text, p_by text, p_reason text, p_kinds text[],
    p_contents text[], p_undo jsonb DEFAULT NULL, p_undo_sealed bytea DEFAULT NULL
) RETURNS TABLE (was jsonb, withdrawn uuid[], waiting uuid[]) LANGUAGE plpgsql AS $$
DECLARE
    v_call runs_call; v_head runs_run; v_runs uuid[]; v_held uuid[]; v_one uuid; v_told text;
    v_withdrawn uuid[] := '{}';
BEGIN
    SELECT c.* INTO v_call FROM runs_call c WHERE c.id = p_call;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT COALESCE(array_agg(r.id), '{}'), COALESCE(array_agg(a.id), '{}') INTO v_runs, v_held
        FROM runs_run r
        JOIN runs_call c ON c.run_id = r.id AND c.step = r.model_steps AND c.fate = '' AND c.intent = 'held'
            AND c.intent_digest = v_call.intent_digest
        JOIN approvals_approval a ON a.id = c.approval_id AND a.gate = 'same_intent'
                AND (a.status = 'pending' OR a.status = 'approved' AND p_fate = 'done')
        WHERE r.correlation_id = v_call.correlation_id AND r.ended_at IS NULL;
    PERFORM 1 FROM runs_run r WHERE r.id = v_call.run_id OR r.id = ANY (v_runs) ORDER BY r.id FOR NO KEY UPDATE;
    SELECT r.* INTO v_head FROM runs_run r WHERE r.id = v_call.run_id AND r.key_id = p_key_id;
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM 1 FROM approvals_approval a WHERE a.id = ANY (v_held) ORDER BY a.id FOR NO KEY UPDATE;
    SELECT c.* INTO v_call FROM runs_call c WHERE c.id = p_call FOR NO KEY UPDATE;
    UPDATE runs_call c SET fate = p_fate, settlement = 'by_person', outcome = p_outcome, settled_at = liyagent_now(),
            late_look_at = NULL, settled_by = p_by, settled_reason = p_reason
        WHERE c.id = p_call AND c.fate = 'unknown'
            AND (p_fate = 'done' OR (c.late_finding <> 'found' AND (c.deadline <= liyagent_now()
                OR NOT EXISTS (SELECT 1 FROM leases_holder h WHERE h.id = c.holder))));
    IF NOT FOUND THEN RETURN; END IF;
    -- One of its undos is settled by that, or what it did is owed to be undone from now on.
    PERFORM liyagent_undo_found(v_call.run_id, v_call.step, v_call.index, CASE p_fate WHEN 'done' THEN 'done' ELSE 'owed' END,
        left(p_by || ' said so: ' || p_reason, 500));
    IF p_undo ? 'key' THEN
        PERFORM liyagent_register_undo(v_call.correlation_id, v_call.run_id, v_call.step, v_call.index, p_undo, p_undo_sealed);
    END IF;
    PERFORM liyagent_judge_saga(v_call.correlation_id);
    PERFORM liyagent_flush_events(v_head.id, v_call.correlation_id, v_head.mission, v_head.recording,
        v_head.events_missing, p_kinds, p_contents);
    IF p_fate = 'done' THEN
        v_told := left(format('call %s, the same as this one, happened: %s', p_call, p_reason), 500);
        FOREACH v_one IN ARRAY v_held LOOP
            PERFORM 1 FROM liyagent_decide(v_one, 'withdrawn', p_by, v_told, '', true, true);
            IF FOUND THEN v_withdrawn := v_withdrawn || v_one; END IF;
        END LOOP;
        v_held := '{}';
    END IF;
    RETURN QUERY SELECT jsonb_build_object('fate', v_call.fate, 'settlement', v_call.settlement,
        'late_finding', v_call.late_finding, 'settled_at', v_call.settled_at), v_withdrawn, v_held;
END $$;

-- Have a write of unknown outcome looked for once more, now, by the usual late look. No row: nothing was changed.
CREATE FUNCTION liyagent_look_again(p_call bigint) RETURNS TABLE (finding text) LANGUAGE plpgsql AS $$
DECLARE v_finding text;
BEGIN
    SELECT c.late_finding INTO v_finding FROM runs_call c WHERE c.id = p_call FOR NO KEY UPDATE;
    UPDATE runs_call c SET late_look_at = liyagent_now(), late_finding = ''
        WHERE c.id = p_call AND c.fate = 'unknown' AND c.late_finding <> 'found';
    IF FOUND THEN RETURN QUERY SELECT v_finding; END IF;
END $$;
