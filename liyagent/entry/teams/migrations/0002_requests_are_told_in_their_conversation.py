"""A request of a run that came by Teams is told in its conversation, and its card brought up to date, whoever changes it."""

from django.db import migrations

# By the table itself, as its notices are: requests are filed and settled by many statements of several rooms. A child's
# request is told where the chain began. A card and what it is brought up to have the same number.
TRIGGERS = """
CREATE SEQUENCE teams_card_number AS integer;
CREATE FUNCTION teams_tell_of_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO entry_delivery (run_id, way, kind, number, address, state, created_at, next_at, give_up_at)
            SELECT t.run_id, 'teams', 'approval', nextval('teams_card_number')::int, jsonb_build_object('bot', t.bot_key,
                'conversation', t.conversation, 'approval', NEW.id), 'pending', it.now, it.now, it.now + interval '1 day'
            FROM teams_teamsturn t, (SELECT liyagent_now() AS now OFFSET 0) AS it WHERE t.run_id = NEW.correlation_id;
    ELSE
        INSERT INTO entry_delivery AS d (run_id, way, kind, number, address, state, created_at, next_at, give_up_at)
            SELECT c.run_id, c.way, 'settled', c.number, c.address, 'pending', it.now, it.now, it.now + interval '1 day'
            FROM entry_delivery c, (SELECT liyagent_now() AS now OFFSET 0) AS it
            WHERE c.run_id = NEW.correlation_id AND c.kind = 'approval' AND c.way = 'teams'
                AND c.address ->> 'approval' = NEW.id::text
            ON CONFLICT ON CONSTRAINT entry_one_delivery_of_a_kind DO UPDATE SET state = 'pending', settled_at = NULL,
                next_at = excluded.next_at, give_up_at = excluded.give_up_at, claimed_until = NULL, failures = 0,
                attempts = d.attempts + 1, last_error = '';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER teams_request_filed AFTER INSERT ON approvals_approval
    FOR EACH ROW WHEN (NEW.status = 'pending') EXECUTE FUNCTION teams_tell_of_request();
CREATE TRIGGER teams_request_settled AFTER UPDATE OF status ON approvals_approval
    FOR EACH ROW WHEN (NEW.status <> OLD.status AND NEW.status NOT IN ('consumed', 'pending'))
    EXECUTE FUNCTION teams_tell_of_request();
"""
NO_TRIGGERS = """
DROP TRIGGER teams_request_settled ON approvals_approval;
DROP TRIGGER teams_request_filed ON approvals_approval;
DROP FUNCTION teams_tell_of_request();
DROP SEQUENCE teams_card_number;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0001_initial"),
        ("entry", "0002_the_end_of_a_run_is_told"),
        ("approvals", "0002_changes_of_requests_are_told"),
    ]

    operations = [migrations.RunSQL(TRIGGERS, NO_TRIGGERS)]
