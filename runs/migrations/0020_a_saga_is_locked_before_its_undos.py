"""An undo that is asked for anew is said to be under the lock of its saga, as all that is said of it."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0019_what_is_said_late_of_a_saga"),
    ]

    operations = [
        load_hot_functions(),
    ]
