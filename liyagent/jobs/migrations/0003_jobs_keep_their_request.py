"""Jobs keep the id of the request that asked for them, and are found by their mission."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_result_and_what_is_owed_after_the_end")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="request_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=128),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("mission", ""), _negated=True),
                fields=["mission", "-id"],
                name="jobs_of_mission",
            ),
        ),
    ]
