"""A run says by a code why it ended, and what it cost; the hot functions that write both."""

from django.db import migrations, models

from runs.hot_functions import FIRST_FILES, load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0003_runs_waiting_by_key"),
        ("agents", "0003_agent_for_real_use"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="cost_micros",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="run",
            name="error",
            field=models.CharField(blank=True, db_default="", default="", max_length=60),
        ),
        load_hot_functions(FIRST_FILES),
    ]
