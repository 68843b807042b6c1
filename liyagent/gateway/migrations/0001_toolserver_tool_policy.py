"""The gateway's three tables; every change to one of them raises the configuration version."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

TABLES = ("gateway_toolserver", "gateway_tool", "gateway_policy")
RAISE_VERSION = """
CREATE TRIGGER {table}_config_changed AFTER INSERT OR UPDATE OR DELETE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION liyagent_config_changed()
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [("agents", "0002_configversion_rises")]

    operations = [
        migrations.CreateModel(
            name="Policy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField()),
                ("is_active", models.BooleanField(default=False)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "policies",
                "ordering": ["name", "-version"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "version"), name="gateway_one_policy_per_version"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_active", True)),
                        fields=("is_active",),
                        name="gateway_one_active_policy",
                        violation_error_message="Another policy is active: deactivate it first, or use `manage.py policies load`.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolServer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.SlugField(unique=True)),
                ("name", models.CharField(blank=True, max_length=200)),
                (
                    "transport",
                    models.CharField(
                        choices=[("http", "HTTP"), ("local", "in this process")],
                        default="http",
                        max_length=10,
                    ),
                ),
                ("url", models.CharField(blank=True, max_length=2000)),
                ("bearer_env", models.CharField(blank=True, max_length=200)),
                ("is_enabled", models.BooleanField(default=True)),
                ("catalogue_read_at", models.DateTimeField(blank=True, null=True)),
                ("catalogue_error", models.TextField(blank=True)),
                ("catalogue_error_since", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["key"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("transport__in", ["http", "local"])),
                        name="gateway_server_transport",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("transport", "http"), models.Q(("url", ""), _negated=True)),
                            models.Q(("transport", "local"), ("url", "")),
                            _connector="OR",
                        ),
                        name="gateway_server_url_fits_transport",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tool",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("schema", models.JSONField(blank=True, default=dict)),
                ("hints", models.JSONField(blank=True, default=dict)),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                ("approved_fingerprint", models.CharField(blank=True, max_length=64)),
                ("is_offered", models.BooleanField(default=True)),
                (
                    "effect",
                    models.CharField(
                        choices=[("read", "read"), ("write", "write")],
                        default="write",
                        max_length=10,
                    ),
                ),
                (
                    "key_place",
                    models.CharField(
                        choices=[
                            ("none", "takes no key"),
                            ("argument", "an argument"),
                            ("meta", "request _meta"),
                        ],
                        default="none",
                        max_length=10,
                    ),
                ),
                ("key_field", models.CharField(blank=True, max_length=200)),
                ("key_window_seconds", models.PositiveIntegerField(default=0)),
                ("reader", models.JSONField(blank=True, null=True)),
                ("undo", models.JSONField(blank=True, null=True)),
                (
                    "timeout_seconds",
                    models.FloatField(
                        default=30.0, validators=[django.core.validators.MinValueValidator(0.05)]
                    ),
                ),
                (
                    "limit_bytes",
                    models.PositiveIntegerField(
                        default=1048576, validators=[django.core.validators.MinValueValidator(1)]
                    ),
                ),
                (
                    "server",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tools",
                        to="gateway.toolserver",
                    ),
                ),
            ],
            options={
                "ordering": ["server__key", "name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("server", "name"), name="gateway_one_tool_per_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("effect__in", ["read", "write"])),
                        name="gateway_tool_effect",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("key_field", ""), ("key_place", "none"), ("key_window_seconds", 0)
                            ),
                            models.Q(
                                ("key_place", "argument"),
                                models.Q(("key_field", ""), _negated=True),
                            ),
                            models.Q(("key_field", ""), ("key_place", "meta")),
                            _connector="OR",
                        ),
                        name="gateway_tool_key",
                        violation_error_message="A key wants place `argument` with a field or `meta` without, and the seconds that the vendor dedupes on it (0: it only stores it); place `none` wants neither.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("timeout_seconds__gt", 0), ("limit_bytes__gt", 0)),
                        name="gateway_tool_limits",
                    ),
                ],
            },
        ),
        *(
            migrations.RunSQL(
                RAISE_VERSION.format(table=table), f"DROP TRIGGER {table}_config_changed ON {table}"
            )
            for table in TABLES
        ),
    ]
