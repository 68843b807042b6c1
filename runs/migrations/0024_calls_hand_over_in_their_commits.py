"""What a call hands over, and what comes back of it, is put down in the commits of its mark and its outcome (HO-03)."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0023_each_round_tells_what_it_tried"),
        ("handoffs", "0002_runs_hand_over_in_their_commits"),
        ("sagas", "0003_sagas_name_what_was_handed_over"),
        ("approvals", "0005_requests_name_what_was_handed_over"),
    ]

    operations = [
        load_hot_functions(),
    ]
