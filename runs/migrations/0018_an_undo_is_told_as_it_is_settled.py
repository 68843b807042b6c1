"""An undo that was made is shown so from the commit on that settles it; a round that ends leaves none in doubt as owed."""

from django.db import migrations

from runs.hot_functions import load_hot_functions
from sagas.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("sagas", "0002_found_by_mission_and_by_what_is_left"),
        ("runs", "0017_workflows_and_sagas"),
    ]

    operations = [
        load_functions(),
        load_hot_functions(),
    ]
