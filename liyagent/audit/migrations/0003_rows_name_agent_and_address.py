"""Rows name the agent and the client's address; under a confidential concern they bear no stamps (MI-03)."""

from django.db import migrations, models

# One who is not told of an agent finds that of the run's first row. What is looked at beside is one probe of a small
# index each: the concerns that are open, and the runs that were started under one. A detail cannot pass for a stamp (MI-07).
WRITER = """
DROP FUNCTION liyagent_audit(text, text, text, uuid, uuid, text, jsonb);
CREATE FUNCTION liyagent_audit(
    p_action text, p_actor text, p_mission text, p_correlation uuid, p_run uuid, p_request text, p_detail jsonb,
    p_agent text DEFAULT '', p_address text DEFAULT ''
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_agent text := p_agent;
    v_confidential boolean :=
        EXISTS (SELECT 1 FROM audit_concern c WHERE c.closed_at IS NULL AND c.about = 'actor' AND c.subject = p_actor)
        OR EXISTS (SELECT 1 FROM audit_concern c
            WHERE c.closed_at IS NULL AND c.about = 'mission' AND c.subject = p_mission)
        OR EXISTS (SELECT 1 FROM audit_auditrow a
            WHERE a.correlation_id = p_correlation AND a.is_confidential AND a.action = 'agent.run.started');
BEGIN
    IF v_agent = '' AND starts_with(p_actor, 'agent:') THEN
        v_agent := substr(p_actor, 7);
    ELSIF v_agent = '' AND p_run IS NOT NULL THEN
        v_agent := COALESCE((SELECT a.agent FROM audit_auditrow a WHERE a.run_id = p_run ORDER BY a.id LIMIT 1), '');
    END IF;
    INSERT INTO audit_auditrow (at, action, actor, agent, mission, correlation_id, run_id, request_id, address,
            is_confidential, detail)
        VALUES (liyagent_now(), p_action, p_actor, v_agent, CASE WHEN v_confidential THEN '' ELSE p_mission END,
            p_correlation, p_run, CASE WHEN v_confidential THEN '' ELSE p_request END,
            CASE WHEN v_confidential THEN '' ELSE left(p_address, 64) END, v_confidential,
            p_detail - ARRAY['actor', 'mission', 'request_id', 'address']);
END $$;
COMMENT ON FUNCTION liyagent_audit(text, text, text, uuid, uuid, text, jsonb, text, text) IS
    'The one writer of audit rows. Under an open concern about the actor or the mission, and for a run that was started under one, they bear no stamps (MI-03).';
"""
BACK = """
DROP FUNCTION liyagent_audit(text, text, text, uuid, uuid, text, jsonb, text, text);
CREATE FUNCTION liyagent_audit(
    p_action text, p_actor text, p_mission text, p_correlation uuid, p_run uuid, p_request text, p_detail jsonb
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO audit_auditrow (at, action, actor, mission, correlation_id, run_id, request_id, detail)
    VALUES (liyagent_now(), p_action, p_actor, p_mission, p_correlation, p_run, p_request, p_detail)
$$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_auditrow_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Concern",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "about",
                    models.CharField(
                        choices=[("actor", "what somebody does"), ("mission", "a mission")],
                        max_length=10,
                    ),
                ),
                ("subject", models.CharField(max_length=200)),
                ("reference", models.CharField(blank=True, max_length=120)),
                ("opened_by", models.CharField(max_length=200)),
                ("opened_at", models.DateTimeField()),
                ("closed_by", models.CharField(blank=True, max_length=200)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-id",),
                "permissions": (("handle_concern", "Can open and close confidential concerns"),),
                "default_permissions": ("view",),
            },
        ),
        migrations.AddField(
            model_name="auditrow",
            name="address",
            field=models.CharField(blank=True, db_default="", max_length=64),
        ),
        migrations.AddField(
            model_name="auditrow",
            name="agent",
            field=models.CharField(blank=True, db_default="", max_length=80),
        ),
        migrations.AddField(
            model_name="auditrow",
            name="is_confidential",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddIndex(
            model_name="auditrow",
            index=models.Index(fields=["actor", "id"], name="audit_by_actor"),
        ),
        migrations.AddIndex(
            model_name="auditrow",
            index=models.Index(fields=["agent", "id"], name="audit_by_agent"),
        ),
        migrations.AddIndex(
            model_name="auditrow",
            index=models.Index(fields=["at"], name="audit_by_time"),
        ),
        migrations.AddIndex(
            model_name="auditrow",
            index=models.Index(
                condition=models.Q(("action", "agent.run.started"), ("is_confidential", True)),
                fields=["correlation_id"],
                name="audit_started_in_confidence",
            ),
        ),
        migrations.AddConstraint(
            model_name="concern",
            constraint=models.CheckConstraint(
                condition=models.Q(("about__in", ["actor", "mission"])), name="audit_concern_about"
            ),
        ),
        migrations.AddConstraint(
            model_name="concern",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at", None)),
                fields=("about", "subject"),
                name="audit_one_open_concern",
            ),
        ),
        migrations.RunSQL(WRITER, BACK),
    ]
