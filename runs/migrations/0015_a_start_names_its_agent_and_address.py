"""The audit row of a start names the agent, and the address of the request that started it."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0014_decisions_are_tagged"),
        ("audit", "0003_rows_name_agent_and_address"),
    ]

    operations = [load_hot_functions()]
