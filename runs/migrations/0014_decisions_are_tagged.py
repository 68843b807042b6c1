"""What a person decided is told with the tag of the process that took it (`events.tags`)."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0013_a_run_goes_on_from_another"),
        ("events", "0003_tags_and_seals"),
    ]

    operations = [load_hot_functions()]
