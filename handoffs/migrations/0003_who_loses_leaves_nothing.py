"""Of two that write one version, the one that comes second leaves nothing of what it would hand over."""

from __future__ import annotations

from django.db import migrations

from handoffs.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [("handoffs", "0002_runs_hand_over_in_their_commits")]

    operations = [load_functions()]
