"""What is told in a chain is told behind what is said of a saga; its first word and the end of its run do not miss each other."""

from django.db import migrations

from runs.hot_functions import load_hot_functions
from sagas.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0020_a_saga_is_locked_before_its_undos"),
    ]

    operations = [
        load_functions(),
        load_hot_functions(),
    ]
