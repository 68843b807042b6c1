"""Named missions, and the function that notes one; the audit room calls it for each of its rows."""

from django.db import migrations, models

# Nobody waits here: of two that note a new mission at once one passes by, and the mission is as old as the other's row; of
# two that find it grown old, likewise. A mission whose row was undone with its transaction is noted by the next. The locks
# are of 2,048 kinds, so that a transaction with however many missions takes no more of them; their first number is ours.
SEEN = """
CREATE FUNCTION liyagent_mission_seen(p_mission text, p_by text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_last timestamptz;
BEGIN
    SELECT last_seen INTO v_last FROM missions_mission WHERE id = p_mission;
    IF v_last IS NULL THEN
        IF pg_try_advisory_xact_lock(1835627635, hashtext(p_mission) & 2047) THEN
            INSERT INTO missions_mission (id, first_seen, first_by, last_seen) VALUES (p_mission, p_at, p_by, p_at)
                ON CONFLICT (id) DO NOTHING;
        END IF;
    ELSIF v_last < p_at - interval '60 seconds' THEN
        UPDATE missions_mission SET last_seen = p_at WHERE id = (
            SELECT id FROM missions_mission WHERE id = p_mission AND last_seen < p_at FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Mission",
            fields=[
                (
                    "id",
                    models.CharField(max_length=128, primary_key=True, serialize=False),
                ),
                ("first_seen", models.DateTimeField()),
                ("first_by", models.CharField(blank=True, max_length=200)),
                ("last_seen", models.DateTimeField()),
            ],
            options={
                "ordering": ("-first_seen",),
                "indexes": [models.Index(fields=["-first_seen", "-id"], name="missions_newest")],
            },
        ),
        migrations.RunSQL(SEEN, "DROP FUNCTION liyagent_mission_seen(text, text, timestamptz)"),
    ]
