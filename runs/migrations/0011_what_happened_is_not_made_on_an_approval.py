"""Who says that a write happened withdraws what was approved to make it again, too."""

from django.db import migrations

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [("runs", "0010_what_was_not_sent_is_not_in_doubt")]

    operations = [load_hot_functions()]
