"""Held calls are filed, decided and made by hot functions; a run's end withdraws what it waited for."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_runs_listed_by_any_filter"), ("approvals", "0001_initial")]

    operations = [load_hot_functions()]
