"""Whether a change of an agent was tried is found among what was tried of its version."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replays", "0002_verdicts_are_resealed_with_other_rows"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="cohortreplay",
            index=models.Index(
                condition=models.Q(("status", "done")),
                fields=["agent_key", "agent_version", "-created_at", "-id"],
                name="replays_done",
            ),
        ),
    ]
