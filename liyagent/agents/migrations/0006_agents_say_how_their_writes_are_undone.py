"""An agent may say how its own writes are undone; a release before writes none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0005_cap_of_seconds_leaves_out_decisions"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="compensations",
            field=models.JSONField(
                blank=True,
                db_default={},
                default=dict,
                help_text="How its own writes are undone, by the tool that made them.",
            ),
        ),
    ]
