"""Runs that wait are found by their sealing key, from one key to the next (ruling 16)."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0002_hot_path")]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["status", "key_id"],
                name="runs_waiting_by_key",
                condition=models.Q(("status__in", ["queued", "paused"])),
            ),
        ),
    ]
