"""A run may go on from one that ended without an answer: one at a time, shown on both."""

from django.db import migrations, models

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0012_runs_that_are_not_written_ahead"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="continues",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("continues__isnull", False)),
                fields=["continues", "-id"],
                name="runs_continuations",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("continues__isnull", False),
                    models.Q(
                        ("status__in", ["declined", "failed", "stopped", "interrupted"]),
                        _negated=True,
                    ),
                ),
                fields=("continues",),
                name="runs_one_continuation",
            ),
        ),
        load_hot_functions(),
    ]
