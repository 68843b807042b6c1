"""Servers by stdio and OAuth, what was approved of a tool, data policies; each change raises the configuration version."""

import django.db.models.functions.datetime
from django.db import migrations, models

KEEP_APPROVED = """
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM gateway_tool) THEN
        UPDATE gateway_tool SET approved = jsonb_build_object('description', description, 'schema', schema)
            WHERE approved_fingerprint <> '' AND approved_fingerprint = fingerprint;
    END IF;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0001_toolserver_tool_policy"),
    ]

    operations = [
        migrations.CreateModel(
            name="DataPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("email", "e-mail address"),
                            ("phone", "phone number"),
                            ("iban", "IBAN"),
                            ("card", "card number"),
                            ("regex", "regular expression"),
                        ],
                        max_length=10,
                    ),
                ),
                ("regex", models.CharField(blank=True, max_length=500)),
                ("path", models.CharField(default="*", max_length=200)),
                ("tools", models.CharField(default="*", max_length=300)),
                (
                    "action",
                    models.CharField(
                        choices=[("mask", "Mask"), ("deny", "Deny")], default="deny", max_length=10
                    ),
                ),
                ("is_enabled", models.BooleanField(default=True)),
                ("created_by", models.CharField(blank=True, max_length=150)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "data policies",
                "ordering": ["name"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="toolserver",
            name="gateway_server_transport",
        ),
        migrations.RemoveConstraint(
            model_name="toolserver",
            name="gateway_server_url_fits_transport",
        ),
        migrations.AddField(
            model_name="policy",
            name="created_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="policy",
            name="note",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddField(
            model_name="tool",
            name="approved",
            field=models.JSONField(
                blank=True, help_text="The description and schema that were approved.", null=True
            ),
        ),
        migrations.AddField(
            model_name="tool",
            name="permission",
            field=models.CharField(
                blank=True,
                help_text="What its run-as principal must hold; empty: nothing.",
                max_length=100,
            ),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="command",
            field=models.CharField(blank=True, max_length=80),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="oauth_client_id",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="oauth_scope",
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="oauth_secret_env",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="oauth_token_url",
            field=models.CharField(blank=True, max_length=2000),
        ),
        migrations.AddField(
            model_name="toolserver",
            name="vendor",
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AlterField(
            model_name="toolserver",
            name="transport",
            field=models.CharField(
                choices=[
                    ("http", "HTTP"),
                    ("stdio", "a registered command (stdio)"),
                    ("local", "in this process"),
                ],
                default="http",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="toolserver",
            constraint=models.CheckConstraint(
                condition=models.Q(("transport__in", ["http", "stdio", "local"])),
                name="gateway_server_transport",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolserver",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("command", ""), ("transport", "http"), models.Q(("url", ""), _negated=True)
                    ),
                    models.Q(
                        ("transport", "stdio"),
                        ("url", ""),
                        models.Q(("command", ""), _negated=True),
                    ),
                    models.Q(("command", ""), ("transport", "local"), ("url", "")),
                    _connector="OR",
                ),
                name="gateway_server_url_fits_transport",
            ),
        ),
        migrations.AddConstraint(
            model_name="toolserver",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("oauth_client_id", ""), ("oauth_secret_env", ""), ("oauth_token_url", "")
                    ),
                    models.Q(
                        ("bearer_env", ""),
                        ("transport", "http"),
                        models.Q(("oauth_token_url", ""), _negated=True),
                        models.Q(("oauth_client_id", ""), _negated=True),
                        models.Q(("oauth_secret_env", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="gateway_server_one_token",
                violation_error_message="OAuth wants a token URL, a client id and the variable of its secret, on an HTTP server, and no bearer variable beside them.",
            ),
        ),
        migrations.AddConstraint(
            model_name="datapolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["email", "phone", "iban", "card", "regex"])),
                name="gateway_data_policy_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="datapolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(("action__in", ["mask", "deny"])),
                name="gateway_data_policy_action",
            ),
        ),
        migrations.AddConstraint(
            model_name="datapolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "regex"), models.Q(("regex", ""), _negated=True)),
                    models.Q(models.Q(("kind", "regex"), _negated=True), ("regex", "")),
                    _connector="OR",
                ),
                name="gateway_data_policy_regex",
                violation_error_message="A regular expression is wanted where the kind is regex, and only there.",
            ),
        ),
        migrations.RunSQL(KEEP_APPROVED, migrations.RunSQL.noop),
        migrations.RunSQL(
            "CREATE TRIGGER gateway_datapolicy_config_changed AFTER INSERT OR UPDATE OR DELETE ON gateway_datapolicy"
            " FOR EACH STATEMENT EXECUTE FUNCTION liyagent_config_changed()",
            "DROP TRIGGER gateway_datapolicy_config_changed ON gateway_datapolicy",
        ),
    ]
