"""A head says of itself that it needs no seal (`is_unsealed`), and who serves may write that: only what was sealed is purged."""

from django.db import migrations

STATE = """
CREATE OR REPLACE FUNCTION liyagent_chain_to_purge(
    p_correlation uuid, p_before timestamptz, OUT state text, OUT count bigint, OUT hash bytea, OUT last_at timestamptz
) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE v_sealed bigint; v_unsealed boolean; v_rows bigint; v_last bytea;
BEGIN
    SELECT h.count, h.hash, h.is_unsealed, h.sealed_count INTO count, hash, v_unsealed, v_sealed
        FROM events_eventhead h WHERE h.correlation_id = p_correlation;
    IF NOT FOUND OR EXISTS (SELECT 1 FROM events_purgecertificate p WHERE p.correlation_id = p_correlation) THEN
        state := 'odd';
        RETURN;
    END IF;
    state := 'kept';
    IF EXISTS (SELECT 1 FROM runs_run r WHERE r.correlation_id = p_correlation
            AND (r.ended_at IS NULL OR r.ended_at >= p_before)) THEN
        RETURN;
    END IF;
    SELECT e.at, e.hash INTO last_at, v_last FROM events_runevent e WHERE e.correlation_id = p_correlation
        ORDER BY e.number DESC LIMIT 1;
    IF last_at >= p_before THEN RETURN; END IF;
    SELECT count(*), max(e.at) INTO v_rows, last_at FROM events_runevent e WHERE e.correlation_id = p_correlation;
    IF last_at >= p_before THEN RETURN; END IF;
    state := CASE WHEN v_rows <> count OR v_rows > 0 AND v_last <> hash THEN 'odd'
        WHEN v_unsealed OR v_sealed < count THEN 'unsealed' ELSE 'due' END;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0009_what_was_purged_and_written_anew_is_odd")]

    operations = [migrations.RunSQL(STATE, migrations.RunSQL.noop)]
