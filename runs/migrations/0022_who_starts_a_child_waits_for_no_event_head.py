"""A run that is started below another waits for nobody who tells in the chain of both."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0021_event_heads_are_locked_last"),
    ]

    operations = [
        load_hot_functions(),
    ]
