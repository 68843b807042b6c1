"""What is in doubt is found by an index of its own, and who said what happened stands on the call."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_calls_that_wait_for_a_person")]

    operations = [
        migrations.AlterModelOptions(
            name="call",
            options={
                "ordering": ("run_id", "step", "index"),
                "permissions": (("settle_call", "Can say what happened to a call in doubt"),),
            },
        ),
        migrations.AddField(
            model_name="call",
            name="settled_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="call",
            name="settled_reason",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=models.Q(
                    ("fate__in", ["", "unknown"]),
                    models.Q(("late_finding", "found"), _negated=True),
                ),
                fields=["fate", "marked_at", "id"],
                name="runs_in_doubt",
            ),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=models.Q(("fate", "done"), ("settlement", "by_person")),
                fields=["correlation_id", "intent_digest"],
                name="runs_happened_intent",
            ),
        ),
    ]
