"""Runs put down what they hand over in the commit of what it belongs to."""

from __future__ import annotations

from django.db import migrations

from handoffs.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("handoffs", "0001_snapshots_versions_and_readings"),
        ("audit", "0003_rows_name_agent_and_address"),
    ]

    operations = [load_functions()]
