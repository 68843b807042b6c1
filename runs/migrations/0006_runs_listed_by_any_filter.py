"""Runs are listed by mission, error and status in the order of time, without a walk through all others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_queued_runs_by_when_they_are_due")]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["mission", "-created_at", "-id"], name="runs_of_mission"),
        ),
        migrations.RemoveIndex(model_name="run", name="runs_by_mission"),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("error", ""), _negated=True),
                fields=["error", "-created_at", "-id"],
                name="runs_by_error",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status", "answered"), _negated=True),
                fields=["status", "-created_at", "-id"],
                name="runs_by_status",
            ),
        ),
    ]
