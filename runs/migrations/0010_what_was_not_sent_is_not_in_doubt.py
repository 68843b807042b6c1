"""What was not sent is not in doubt: the index of writes in doubt leaves out held calls and work handed down.

The new index is there before the old one goes. A process of the release before then finds its list of what is open
without an index, which takes longer; all else that it asks stands in the new one.
"""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("runs", "0009_operators_and_approvers_settle")]

    operations = [
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=(
                    Q(fate="unknown") | (Q(fate="") & Q(intent="sending") & ~Q(server="agents"))
                )
                & ~Q(late_finding="found"),
                fields=["fate", "marked_at", "id"],
                name="runs_sent_in_doubt",
            ),
        ),
        migrations.RemoveIndex(model_name="call", name="runs_in_doubt"),
    ]
