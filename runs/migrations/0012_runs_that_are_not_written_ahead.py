"""A run says whether it is written ahead; an older process starts its runs as it did, by the default."""

from django.db import migrations, models

from runs.hot_functions import load_hot_functions


class Migration(migrations.Migration):
    dependencies = [("runs", "0011_what_happened_is_not_made_on_an_approval")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="is_written_ahead",
            field=models.BooleanField(db_default=True, default=True),
        ),
        load_hot_functions(),
    ]
