"""Signed roots close over what was written and over each other; they and the database's identity refuse changes."""

from django.db import migrations, models

from liyagent.core.appendonly import AppendOnly


class Migration(migrations.Migration):
    dependencies = [("events", "0004_what_rested_long_is_purged")]

    operations = [
        migrations.CreateModel(
            name="Identity",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("database", models.UUIDField()),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "identity of the database",
                "verbose_name_plural": "identity of the database",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="events_one_identity"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Rollback",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("found_at", models.DateTimeField()),
                ("reason", models.CharField(max_length=40)),
                ("sentence", models.TextField()),
                ("exported", models.TextField()),
                ("accepted_at", models.DateTimeField(null=True)),
                ("accepted_by", models.CharField(blank=True, db_default="", max_length=200)),
                ("accepted_reason", models.TextField(blank=True, db_default="")),
                ("epoch", models.IntegerField(null=True)),
            ],
            options={
                "ordering": ("-id",),
                "default_permissions": ("view",),
                "constraints": [
                    models.UniqueConstraint(
                        models.Value(1),
                        condition=models.Q(("accepted_at", None)),
                        name="events_one_open_rollback",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Root",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("epoch", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("statement", models.TextField()),
                ("signatures", models.TextField()),
                ("heads", models.BinaryField()),
                ("certificates", models.BinaryField()),
                ("nodes", models.BinaryField()),
            ],
            options={
                "ordering": ("-number",),
                "default_permissions": ("view",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("certificates", b""), _negated=True),
                        fields=["number"],
                        name="events_roots_of_purges",
                    )
                ],
            },
        ),
        AppendOnly("events_identity"),
        AppendOnly("events_root"),
    ]
