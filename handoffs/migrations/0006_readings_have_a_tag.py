"""Whoever adds or changes a reading by hand has no key to make its tag with."""

from django.db import migrations, models

from handoffs.functions import load_functions


class Migration(migrations.Migration):
    dependencies = [
        ("handoffs", "0005_hand_offs_hold_nothing_up"),
    ]

    operations = [
        migrations.AddField(
            model_name="reading",
            name="tag",
            field=models.BinaryField(db_default=b"", default=b""),
        ),
        load_functions(),
    ]
