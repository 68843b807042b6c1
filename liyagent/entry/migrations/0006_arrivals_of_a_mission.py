"""Arrivals are found by the mission that they name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("entry", "0005_deliveries_are_named_in_the_plural")]

    operations = [
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(
                condition=models.Q(("mission", ""), _negated=True),
                fields=["mission", "-received_at", "-run_id"],
                name="entry_arrival_of_mission",
            ),
        ),
    ]
