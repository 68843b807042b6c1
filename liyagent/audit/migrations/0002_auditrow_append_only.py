"""The database's clock, the one writer of audit rows, and a log that refuses changes."""

from django.db import migrations

from liyagent.core.appendonly import AppendOnly

CLOCK = """
CREATE FUNCTION liyagent_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT clock_timestamp() $$;
COMMENT ON FUNCTION liyagent_now() IS 'The one clock of leases, deadlines and slots; tests replace it (ruling 1).';
"""

WRITER = """
CREATE FUNCTION liyagent_audit(
    p_action text, p_actor text, p_mission text, p_correlation uuid, p_run uuid, p_request text, p_detail jsonb
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit_auditrow (at, action, actor, mission, correlation_id, run_id, request_id, detail)
    VALUES (liyagent_now(), p_action, p_actor, p_mission, p_correlation, p_run, p_request, p_detail)
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.RunSQL(CLOCK, "DROP FUNCTION liyagent_now()"),
        migrations.RunSQL(
            WRITER, "DROP FUNCTION liyagent_audit(text, text, text, uuid, uuid, text, jsonb)"
        ),
        AppendOnly("audit_auditrow"),
    ]
