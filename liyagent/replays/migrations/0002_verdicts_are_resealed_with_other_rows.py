"""The seal of a verdict is a column like that of other sealed rows, and a result has a number among its cohort's."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("replays", "0001_cohorts_and_results"),
    ]

    operations = [
        migrations.RemoveField(model_name="cohortreplay", name="seal"),
        migrations.AddField(
            model_name="cohortreplay", name="sealed", field=models.BinaryField(null=True)
        ),
        migrations.AddField(
            model_name="replayed",
            name="number",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AlterModelOptions(
            name="replayed",
            options={"default_permissions": ("view",), "ordering": ("cohort", "number")},
        ),
        migrations.AddIndex(
            model_name="cohortreplay",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)),
                fields=["ended_at"],
                name="replays_ended",
            ),
        ),
    ]
