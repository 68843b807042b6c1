"""What cannot be kept of a hand-off holds up nothing that it rides with; the audit log says so."""

from __future__ import annotations

from django.db import migrations

from handoffs.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [("handoffs", "0004_hand_offs_are_called_so")]

    operations = [load_functions()]
