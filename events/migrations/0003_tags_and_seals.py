"""Events bear a tag of who wrote them, heads a seal; what is appended is marked as not sealed yet."""

from django.db import migrations, models

# A content comes with its tag behind a unit separator, which canonical JSON cannot hold (`events.tags`); a process of the
# release before sends none. `is_unsealed` is true already on all but the first append after a seal: no index is touched.
APPEND = r"""
CREATE OR REPLACE FUNCTION liyagent_append_events(
    p_correlation uuid, p_run uuid, p_mission text, p_recording text, p_kinds text[], p_contents text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_number bigint; v_hash bytea; v_at timestamptz; v_content text;
BEGIN
    SELECT count, hash INTO STRICT v_number, v_hash
        FROM events_eventhead WHERE correlation_id = p_correlation FOR UPDATE;
    v_at := liyagent_now();
    FOR i IN 1 .. cardinality(p_kinds) LOOP
        v_number := v_number + 1;
        v_content := split_part(p_contents[i], E'\x1f', 1);
        v_hash := liyagent_event_hash(
            v_hash, p_correlation, v_number, p_run, v_at, p_kinds[i], p_mission, p_recording, v_content);
        INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash, tag)
            VALUES (p_correlation, v_number, p_run, v_at, p_kinds[i], p_mission, p_recording, v_content, v_hash,
                decode(split_part(p_contents[i], E'\x1f', 2), 'hex'));
    END LOOP;
    UPDATE events_eventhead SET count = v_number, hash = v_hash, is_unsealed = true
        WHERE correlation_id = p_correlation;
END $$;
"""
# What stood before is sealed as it is.
BEFORE = "UPDATE events_eventhead SET untagged = count, is_unsealed = true WHERE count > 0"


class Migration(migrations.Migration):
    dependencies = [("events", "0002_runevent_append_only")]

    operations = [
        migrations.AddField("runevent", "tag", models.BinaryField(db_default=b"")),
        migrations.AddField("eventhead", "is_unsealed", models.BooleanField(db_default=False)),
        migrations.AddField("eventhead", "sealed_count", models.BigIntegerField(db_default=0)),
        migrations.AddField("eventhead", "sealed_in", models.BigIntegerField(null=True)),
        migrations.AddField("eventhead", "seal", models.BinaryField(db_default=b"")),
        migrations.AddField(
            "eventhead", "seal_key", models.CharField(db_default="", max_length=64)
        ),
        migrations.AddField("eventhead", "untagged", models.BigIntegerField(db_default=0)),
        migrations.AddIndex(
            "eventhead",
            models.Index(
                condition=models.Q(("is_unsealed", True)),
                fields=["correlation_id"],
                name="events_unsealed",
            ),
        ),
        migrations.RunSQL(APPEND, migrations.RunSQL.noop),
        migrations.RunSQL(BEFORE, migrations.RunSQL.noop),
    ]
