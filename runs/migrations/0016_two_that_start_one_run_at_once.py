"""Two that start the same run at once: one starts it, and neither fails."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0015_a_start_names_its_agent_and_address"),
    ]

    operations = [load_hot_functions()]
