"""Events of a named mission are found in the order of time; those of an unnamed one by its chain, and in no index more."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Cast


class Migration(migrations.Migration):
    # Built beside what appends: a flush that waits for long drops its events.
    atomic = False

    dependencies = [("events", "0005_roots_close_over_the_record")]

    operations = [
        AddIndexConcurrently(
            model_name="runevent",
            index=models.Index(
                condition=models.Q(
                    ("mission", Cast("correlation_id", models.TextField())), _negated=True
                ),
                fields=["mission", "at", "correlation_id", "number"],
                name="events_of_named_mission",
            ),
        ),
    ]
