"""A saga of which something is first said when its run has ended stands as if it had been said before."""

from django.db import migrations

from sagas.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0018_an_undo_is_told_as_it_is_settled"),
    ]

    operations = [
        load_functions(),
    ]
