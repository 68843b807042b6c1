"""A chain that was purged, and of which something was written anew, is odd: it ends no purge of others.

A second certificate of it there cannot be. Whoever serves can put in a head of any id. All that is asked is one row by its index,
also where a session made its plan while there were few (as in 0008).
"""

from django.db import migrations

STATE = """
CREATE OR REPLACE FUNCTION liyagent_chain_to_purge(
    p_correlation uuid, p_before timestamptz, OUT state text, OUT count bigint, OUT hash bytea, OUT last_at timestamptz
) LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE v_unsealed boolean; v_rows bigint; v_last bytea;
BEGIN
    SELECT h.count, h.hash, h.is_unsealed INTO count, hash, v_unsealed
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
        WHEN v_unsealed THEN 'unsealed' ELSE 'due' END;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0008_a_purge_asks_for_certificates_by_their_index")]

    operations = [migrations.RunSQL(STATE, migrations.RunSQL.noop)]
