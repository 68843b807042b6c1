"""A person closes what is given up; arrivals are listed by time, deliveries by their state."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("entry", "0003_arrivals_of_a_source_by_time"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="delivery",
            name="entry_delivery_state",
        ),
        migrations.RemoveIndex(
            model_name="arrival",
            name="entry_arrival_of_source",
        ),
        migrations.RemoveIndex(
            model_name="arrival",
            name="entry_arrival_refused",
        ),
        migrations.RemoveIndex(
            model_name="delivery",
            name="entry_delivery_settled",
        ),
        migrations.AddField(
            model_name="delivery",
            name="closed_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="delivery",
            name="closed_why",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("pending", "Pending"),
                    ("delivered", "Delivered"),
                    ("unconfirmed", "Unconfirmed"),
                    ("dead", "Dead"),
                    ("closed", "Closed"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(fields=["-received_at", "-run_id"], name="entry_arrival_newest"),
        ),
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(
                fields=["way", "-received_at", "-run_id"], name="entry_arrival_of_way"
            ),
        ),
        migrations.AddIndex(
            model_name="arrival",
            index=models.Index(
                condition=models.Q(("state", "refused")),
                fields=["-received_at", "-run_id"],
                name="entry_arrival_refusals",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state__in", ["delivered", "unconfirmed", "dead", "closed"])),
                fields=["settled_at"],
                name="entry_delivery_over",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["state", "-id"], name="entry_delivery_by_state"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["waiting", "pending", "delivered", "unconfirmed", "dead", "closed"],
                    )
                ),
                name="entry_delivery_state",
            ),
        ),
    ]
