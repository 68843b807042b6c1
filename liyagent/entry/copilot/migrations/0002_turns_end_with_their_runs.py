"""A turn ends in the commit that ends its run, or that refuses it: then the next may be asked."""

from django.db import migrations

# What an input guardrail refused is kept nowhere (runs/finish).
TRIGGER = """
CREATE FUNCTION copilot_turn_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE copilot_turn t SET ended_at = NEW.ended_at,
            outcome = CASE WHEN NEW.state = 'refused' THEN 'refused' ELSE NEW.outcome END,
            sealed = CASE WHEN EXISTS (SELECT 1 FROM runs_run r WHERE r.id = NEW.run_id AND r.error = 'guardrail.input')
                THEN NULL ELSE t.sealed END
        WHERE t.run_id = NEW.run_id AND t.ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER copilot_turn_ended AFTER UPDATE OF state ON entry_arrival FOR EACH ROW
    WHEN (NEW.way = 'copilot' AND NEW.state IN ('ended', 'refused') AND OLD.state <> NEW.state)
    EXECUTE FUNCTION copilot_turn_ended();
"""
NO_TRIGGER = """
DROP TRIGGER copilot_turn_ended ON entry_arrival;
DROP FUNCTION copilot_turn_ended();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("copilot", "0001_initial"),
        ("entry", "0002_the_end_of_a_run_is_told"),
        ("runs", "0012_runs_that_are_not_written_ahead"),
    ]

    operations = [migrations.RunSQL(TRIGGER, NO_TRIGGER)]
