"""The chain is made by one function, under a lock on its own head alone; its rows refuse changes (ruling 24)."""

from django.db import migrations

from liyagent.core.appendonly import AppendOnly

APPEND = """
CREATE FUNCTION liyagent_event_hash(
    p_previous bytea, p_correlation uuid, p_number bigint, p_run uuid, p_at timestamptz,
    p_kind text, p_mission text, p_recording text, p_content text
) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(p_previous || convert_to(concat_ws(E'\\x1f',
        'liyagent/event/v1', p_correlation, p_number, p_run,
        (extract(epoch FROM p_at) * 1000000)::bigint, p_kind, p_mission, p_recording, p_content), 'UTF8'))
$$;

CREATE FUNCTION liyagent_append_events(
    p_correlation uuid, p_run uuid, p_mission text, p_recording text, p_kinds text[], p_contents text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_number bigint; v_hash bytea; v_at timestamptz;
BEGIN
    SELECT count, hash INTO STRICT v_number, v_hash
        FROM events_eventhead WHERE correlation_id = p_correlation FOR UPDATE;
    v_at := liyagent_now();
    FOR i IN 1 .. cardinality(p_kinds) LOOP
        v_number := v_number + 1;
        v_hash := liyagent_event_hash(
            v_hash, p_correlation, v_number, p_run, v_at, p_kinds[i], p_mission, p_recording, p_contents[i]);
        INSERT INTO events_runevent (correlation_id, number, run_id, at, kind, mission, recording, content, hash)
            VALUES (p_correlation, v_number, p_run, v_at, p_kinds[i], p_mission, p_recording, p_contents[i], v_hash);
    END LOOP;
    UPDATE events_eventhead SET count = v_number, hash = v_hash WHERE correlation_id = p_correlation;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial"), ("audit", "0002_auditrow_append_only")]

    operations = [
        migrations.RunSQL(
            APPEND,
            """
            DROP FUNCTION liyagent_append_events(uuid, uuid, text, text, text[], text[]);
            DROP FUNCTION liyagent_event_hash(bytea, uuid, bigint, uuid, timestamptz, text, text, text, text);
            """,
        ),
        AppendOnly("events_runevent"),
    ]
