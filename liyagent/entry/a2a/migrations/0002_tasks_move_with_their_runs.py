"""A task moves in the commit that moves its run, whoever moves it, and what its caller wants to know of is owed by it."""

from django.db import migrations

# The triggers are deferred: each looks once, at the very end of a commit, when heads, calls, requests and event heads are
# locked that ever will be. So a task's row is the last lock of any of them, and no order of theirs is broken.
MOVE = """
CREATE FUNCTION a2a_state_of(p_task uuid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN r.status = 'answered' THEN 'completed'
        WHEN r.status = 'declined' THEN 'rejected'
        WHEN r.status IN ('failed', 'interrupted') THEN 'failed'
        WHEN r.status = 'stopped' THEN 'canceled'
        WHEN r.status = 'waiting' AND NOT r.stop_requested AND EXISTS (
            SELECT 1 FROM runs_run f JOIN approvals_approval a ON a.run_id = f.id
                WHERE f.correlation_id = p_task AND a.status = 'pending' AND a.run_waits) THEN 'input-required'
        WHEN r.id IS NULL OR (r.status = 'queued' AND r.attempt = 0) THEN
            CASE WHEN n.state = 'refused' THEN 'rejected' ELSE 'submitted' END
        ELSE 'working' END
    FROM (SELECT 1) AS one LEFT JOIN runs_run r ON r.id = p_task LEFT JOIN entry_arrival n ON n.run_id = p_task
$$;

-- Owe one configuration the state of its task as it stands, under a number of its own. Whoever calls it holds the task's row.
CREATE FUNCTION a2a_owe_push(p_task uuid, p_config bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t a2a_task; v_now timestamptz := liyagent_now();
BEGIN
    UPDATE a2a_task SET told = told + 1 WHERE run_id = p_task RETURNING * INTO t;
    INSERT INTO entry_delivery (run_id, way, kind, number, address, state, created_at, next_at, give_up_at)
        VALUES (p_task, 'a2a', 'push', t.told, jsonb_build_object('config', p_config::text, 'state', t.state, 'at',
                to_char(t.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
            'pending', v_now, v_now, v_now + interval '1 day');
END $$;

CREATE FUNCTION a2a_move_task(p_task uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t a2a_task; v_state text; v_config bigint; v_now timestamptz := liyagent_now();
BEGIN
    SELECT * INTO t FROM a2a_task WHERE run_id = p_task AND ended_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    v_state := a2a_state_of(p_task);
    IF v_state = t.state THEN RETURN; END IF;
    UPDATE a2a_task SET state = v_state, changed_at = v_now,
            ended_at = CASE WHEN v_state IN ('completed', 'failed', 'canceled', 'rejected') THEN v_now END
        WHERE run_id = p_task;
    IF v_state IN ('submitted', 'working') THEN RETURN; END IF;
    FOR v_config IN SELECT id FROM a2a_pushconfig WHERE task_id = p_task ORDER BY id LOOP
        PERFORM a2a_owe_push(p_task, v_config);
    END LOOP;
END $$;

CREATE FUNCTION a2a_run_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM a2a_move_task(NEW.id); RETURN NULL; END $$;
CREATE FUNCTION a2a_request_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM a2a_move_task(NEW.correlation_id); RETURN NULL; END $$;
CREATE FUNCTION a2a_arrival_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM a2a_move_task(NEW.run_id); RETURN NULL; END $$;

CREATE CONSTRAINT TRIGGER a2a_run_moved AFTER UPDATE OF status ON runs_run
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.status <> NEW.status AND NEW.entry = 'a2a' AND NEW.parent_id IS NULL)
    EXECUTE FUNCTION a2a_run_moved();
CREATE CONSTRAINT TRIGGER a2a_run_began AFTER INSERT ON runs_run
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.entry = 'a2a' AND NEW.parent_id IS NULL AND NEW.status <> 'queued')
    EXECUTE FUNCTION a2a_run_moved();
CREATE CONSTRAINT TRIGGER a2a_request_filed AFTER INSERT ON approvals_approval
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.entry = 'a2a' AND NEW.run_waits)
    EXECUTE FUNCTION a2a_request_moved();
CREATE CONSTRAINT TRIGGER a2a_request_moved AFTER UPDATE OF status ON approvals_approval
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.status <> NEW.status AND NEW.entry = 'a2a' AND NEW.run_waits)
    EXECUTE FUNCTION a2a_request_moved();
CREATE CONSTRAINT TRIGGER a2a_arrival_moved AFTER UPDATE OF state ON entry_arrival
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.way = 'a2a' AND NEW.state = 'refused')
    EXECUTE FUNCTION a2a_arrival_moved();
"""
NO_MOVE = """
DROP TRIGGER a2a_run_moved ON runs_run;
DROP TRIGGER a2a_run_began ON runs_run;
DROP TRIGGER a2a_request_filed ON approvals_approval;
DROP TRIGGER a2a_request_moved ON approvals_approval;
DROP TRIGGER a2a_arrival_moved ON entry_arrival;
DROP FUNCTION a2a_run_moved();
DROP FUNCTION a2a_request_moved();
DROP FUNCTION a2a_arrival_moved();
DROP FUNCTION a2a_move_task(uuid);
DROP FUNCTION a2a_owe_push(uuid, bigint);
DROP FUNCTION a2a_state_of(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("a2a", "0001_initial"),
        ("approvals", "0002_changes_of_requests_are_told"),
        ("entry", "0002_the_end_of_a_run_is_told"),
        ("runs", "0009_operators_and_approvers_settle"),
    ]

    operations = [migrations.RunSQL(MOVE, NO_MOVE)]
