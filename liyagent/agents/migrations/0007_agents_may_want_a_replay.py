"""An agent may want a cohort replay before its model changes; a release before writes none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0006_agents_say_how_their_writes_are_undone"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="require_replay",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether its model, provider and instructions change only as a cohort replay tried it.",
            ),
        ),
    ]
