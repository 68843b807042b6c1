"""Each round of a saga tells what it tried; a write that an end leaves in doubt is listed in its saga."""

from django.db import migrations

from sagas.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0022_who_starts_a_child_waits_for_no_event_head"),
    ]

    operations = [
        load_functions(),
    ]
