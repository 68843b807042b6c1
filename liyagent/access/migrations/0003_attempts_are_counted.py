"""Failed attempts are counted, and keys kept by who they are for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0002_apikey_scopes"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="apikey",
            options={
                "ordering": ("-created_at", "-id"),
                "permissions": (("keep_own_keys", "Can make, list and revoke own API keys"),),
                "verbose_name": "API key",
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("pair", "a user name from an address"),
                            ("address", "an address"),
                            ("user", "a user name"),
                            ("key", "API keys from an address"),
                            ("known", "a user who logged in from an address"),
                        ],
                        max_length=10,
                    ),
                ),
                ("subject", models.CharField(max_length=64)),
                ("count", models.PositiveIntegerField(default=1)),
                ("expires_at", models.DateTimeField(db_index=True)),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "subject"), name="access_one_count"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["pair", "address", "user", "key", "known"])
                        ),
                        name="access_attempt_kind",
                    ),
                ],
            },
        ),
    ]
