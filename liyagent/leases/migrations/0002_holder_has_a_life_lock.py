"""A holder says which advisory lock it keeps while it lives; one that keeps none says nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leases", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="holder",
            name="life_lock",
            field=models.BigIntegerField(blank=True, null=True),
        ),
    ]
