"""A key may be narrower than its user."""

from django.db import migrations, models

import liyagent.access.models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0001_apikey"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="created_by",
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name="apikey",
            name="scopes",
            field=models.JSONField(default=liyagent.access.models.all_of_its_user),
        ),
    ]
