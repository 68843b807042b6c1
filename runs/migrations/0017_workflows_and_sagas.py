"""Runs of workflows, and what failed runs did undone: see `runs/sql` and `sagas/sql`."""

from django.db import migrations, models

from runs.hot_functions import load_hot_functions
from sagas.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("sagas", "0001_sagas_and_undos"),
        ("runs", "0016_two_that_start_one_run_at_once"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="workflow",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("workflow", ""), _negated=True),
                fields=["workflow", "-created_at", "-id"],
                name="runs_of_workflow",
            ),
        ),
        load_functions(),
        load_hot_functions(),
    ]
