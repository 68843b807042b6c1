"""What the cap of seconds says of itself is what it does: the time that people take is left out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0004_versions_never_come_twice"),
    ]

    operations = [
        migrations.AlterField(
            model_name="agent",
            name="max_seconds",
            field=models.PositiveIntegerField(
                default=0,
                help_text="Seconds from a run's start, waits included but for people's decisions; 0: no cap.",
            ),
        ),
    ]
