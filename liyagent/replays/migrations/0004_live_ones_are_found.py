"""Those that have not ended are found without walking through the others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replays", "0003_leave_is_found_by_version"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="cohortreplay",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True)),
                fields=["created_at"],
                name="replays_live",
            ),
        ),
    ]
