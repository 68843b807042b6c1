from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("entry", "0002_the_end_of_a_run_is_told")]

    operations = [
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(
                fields=["way", "source", "-received_at"], name="entry_arrival_by_time"
            ),
        ),
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(
                condition=models.Q(("way__in", ["webhook", "ticket"])),
                fields=["-run_id"],
                name="entry_arrival_of_hooks",
            ),
        ),
    ]
