"""When a request was settled is kept: also of those that nobody decided, which went stale or ended with their run. And
what was filed in the place of one that went stale is found, whatever run filed it."""

from django.db import migrations, models

# By the table itself, as for notices: requests are settled by many statements of several rooms. No hot function changes.
SETTLES = """
CREATE FUNCTION liyagent_request_settles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.settled_at := liyagent_now();
    RETURN NEW;
END $$;
CREATE TRIGGER approvals_approval_settles BEFORE UPDATE OF status ON approvals_approval
    FOR EACH ROW WHEN (NEW.status <> OLD.status AND NEW.status NOT IN ('pending', 'approved'))
    EXECUTE FUNCTION liyagent_request_settles();
"""
NO_SETTLES = """
DROP TRIGGER approvals_approval_settles ON approvals_approval;
DROP FUNCTION liyagent_request_settles();
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_changes_of_requests_are_told")]

    operations = [
        migrations.AddField(
            model_name="approval",
            name="settled_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("replaces__isnull", False)),
                fields=["replaces"],
                name="approvals_by_replaced",
            ),
        ),
        migrations.RunSQL(SETTLES, NO_SETTLES),
    ]
