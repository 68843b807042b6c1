-- Hand-offs kept in the commits of what they belong to. They are made in the process (`handoffs/ride.py`), which has the key of
-- the tags; here they are only put down. No lock is taken but those of the rows that are new.

-- Put down a version, or several (`p` is an object, or a list of them), each once: asked again it does nothing. NULL is nothing.
-- A second version whose first is not there, as of a delegation that an earlier release made, is not written. Without
-- a `body` it is only said who read what; `reader` names who read the version, by `digest`.
-- Never at the cost of what it rides with, as of events (EV-07): what cannot be kept, or waits a second for a lock, rolls back
-- alone, and its audit row says so (`lost`, the SQLSTATE): the thread is shown as one that does not hold.
CREATE FUNCTION liyagent_hand(p jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v jsonb; v_parent text; v_thread uuid; v_number int; v_timeout text := current_setting('lock_timeout');
BEGIN
    IF p IS NULL OR jsonb_typeof(p) = 'null' THEN RETURN; END IF;
    FOR v IN SELECT it FROM jsonb_array_elements(CASE jsonb_typeof(p) WHEN 'array' THEN p ELSE jsonb_build_array(p) END) AS it
    LOOP
        v_thread := (v->>'thread')::uuid; v_number := (v->>'number')::int; v_parent := '';
        BEGIN
            PERFORM set_config('lock_timeout', '1s', true);
            IF v_number > 1 THEN
                SELECT o.digest INTO v_parent FROM handoffs_version o WHERE o.thread = v_thread AND o.number = v_number - 1;
            END IF;
            IF v ? 'body' AND v_parent IS NOT NULL THEN
                PERFORM liyagent_hand_version(v, v_thread, v_number, v_parent);
            END IF;
            IF COALESCE(v->>'reader', '') <> '' AND v_parent IS NOT NULL THEN
                INSERT INTO handoffs_reading (thread, number, digest, reader, run_id, tag)
                    VALUES (v_thread, v_number, v->>'digest', v->>'reader', (v->>'reader_run')::uuid,
                        decode(v->>'reader_tag', 'hex'))
                    ON CONFLICT DO NOTHING;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'liyagent: version % of hand-off % could not be kept: %', v_number, v_thread, SQLERRM;
            PERFORM liyagent_audit('agent.handoff', COALESCE(v->>'author', v->>'reader'), COALESCE(v->>'mission', ''),
                (v->>'correlation')::uuid, COALESCE(v->>'run', v->>'reader_run')::uuid, COALESCE(v->>'request', ''),
                jsonb_build_object('thread', v_thread, 'version', v_number, 'digest', v->>'digest', 'lost', SQLSTATE), '', '');
        END;
        PERFORM set_config('lock_timeout', v_timeout, true);
    END LOOP;
END $$;

-- A version with what it hands over, and its row in the audit log (HO-04); whether it is new. Of two that write one number of a
-- thread at once the second waits here for the first, and writes nothing, its content neither (HO-02).
CREATE FUNCTION liyagent_hand_version(p jsonb, p_thread uuid, p_number int, p_parent text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO handoffs_version (thread, number, digest, parent, author, run_id, correlation_id, mission, tag)
        VALUES (p_thread, p_number, p->>'digest', p_parent, p->>'author', (p->>'run')::uuid, (p->>'correlation')::uuid,
            p->>'mission', decode(p->>'tag', 'hex'))
        ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO handoffs_snapshot (digest, sender, recipient, kind, body)
        VALUES (p->>'digest', p->>'sender', p->>'recipient', p->>'kind', p->>'body')
        ON CONFLICT DO NOTHING;
    PERFORM liyagent_audit('agent.handoff', p->>'author', p->>'mission', (p->>'correlation')::uuid, (p->>'run')::uuid,
        COALESCE(p->>'request', ''), jsonb_build_object('thread', p_thread, 'version', p_number, 'digest', p->>'digest',
            'kind', p->>'kind', 'from', p->>'sender', 'to', p->>'recipient'), '', COALESCE(p->>'address', ''));
    RETURN true;
END $$;
