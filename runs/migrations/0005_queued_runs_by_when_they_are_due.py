"""Queued runs are found by when they are due; those with two losses apart, for a process of their own (ruling 11)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0004_error_and_cost"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="run",
            name="runs_queued_fresh",
        ),
        migrations.RemoveIndex(
            model_name="run",
            name="runs_queued_again",
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("attempt", 0), ("not_before__isnull", True), ("status", "queued")
                ),
                fields=["created_at"],
                name="runs_queued_fresh",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("attempt__gt", 0),
                    ("not_before__isnull", True),
                    ("status", "queued"),
                    models.Q(("losses", 2), _negated=True),
                ),
                fields=["created_at"],
                name="runs_queued_again",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("not_before__isnull", False),
                    ("status", "queued"),
                    models.Q(("losses", 2), _negated=True),
                ),
                fields=["not_before"],
                name="runs_queued_timed",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("losses", 2), ("status", "queued")),
                fields=["stop_requested", "not_before", "created_at"],
                name="runs_queued_alone",
            ),
        ),
    ]
