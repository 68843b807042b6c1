"""What the audit log says of hand-offs is found by their thread, so that one that is gone from its table is missed."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform


class Migration(migrations.Migration):
    # Built beside what writes.
    atomic = False

    dependencies = [("audit", "0005_named_missions_are_noted")]

    operations = [
        AddIndexConcurrently(
            model_name="auditrow",
            index=models.Index(
                KeyTextTransform("thread", "detail"),
                name="audit_hand_offs",
                condition=models.Q(action="agent.handoff"),
            ),
        ),
    ]
