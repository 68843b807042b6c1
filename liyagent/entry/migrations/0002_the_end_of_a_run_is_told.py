"""What came in ends, and what is owed for it falls due, in the commit that ends its run, whoever ends it."""

from django.db import migrations

# By the table itself: a run is ended by several statements, and an answer that one forgot would be owed for ever.
TRIGGER = """
CREATE FUNCTION entry_run_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE entry_arrival SET state = 'ended', outcome = NEW.status, ended_at = NEW.ended_at, sealed = NULL,
            started_at = COALESCE(started_at, NEW.created_at), claimed_until = NULL
        WHERE run_id = NEW.id AND state IN ('received', 'started');
    UPDATE entry_delivery SET state = 'pending', next_at = NEW.ended_at, give_up_at = NEW.ended_at + interval '1 day'
        WHERE run_id = NEW.id AND state = 'waiting';
    RETURN NULL;
END $$;
CREATE TRIGGER entry_run_ended AFTER UPDATE OF ended_at ON runs_run FOR EACH ROW
    WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.parent_id IS NULL
        AND NEW.entry NOT IN ('api', 'cli', 'seed'))
    EXECUTE FUNCTION entry_run_ended();
"""
NO_TRIGGER = """
DROP TRIGGER entry_run_ended ON runs_run;
DROP FUNCTION entry_run_ended();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("entry", "0001_initial"),
        ("runs", "0009_operators_and_approvers_settle"),
    ]

    operations = [migrations.RunSQL(TRIGGER, NO_TRIGGER)]
