"""What happens to a request is told: a notice is written in the same commit, whoever changed the row."""

import django.db.models.deletion
from django.db import migrations, models

# One notice, of a request as it is now; due at once, given up after a day.
TELL = """
CREATE FUNCTION liyagent_tell_of(a approvals_approval, p_kind text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO approvals_notice (webhook_id, approval_id, kind, status, decided_by, state, created_at, next_at,
            give_up_at, attempts, failures, last_error)
        SELECT gen_random_uuid(), a.id, p_kind, a.status, a.decided_by, 'pending', it.now, it.now,
            it.now + interval '1 day', 0, 0, '' FROM (SELECT liyagent_now() AS now OFFSET 0) AS it
$$;
"""
# By the table itself: requests are changed by many statements of several rooms, and one that forgot to tell would show
# nowhere. What was reserved is no news to anybody: its run goes on.
TRIGGERS = """
CREATE FUNCTION liyagent_tell_of_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_tell_of(NEW, CASE NEW.status WHEN 'pending' THEN 'filed' WHEN 'approved' THEN 'decided'
        WHEN 'rejected' THEN 'decided' ELSE NEW.status END);
    RETURN NULL;
END $$;
CREATE TRIGGER approvals_approval_tell_filed AFTER INSERT ON approvals_approval
    FOR EACH ROW WHEN (NEW.status <> 'consumed') EXECUTE FUNCTION liyagent_tell_of_request();
CREATE TRIGGER approvals_approval_tell_changed AFTER UPDATE OF status ON approvals_approval
    FOR EACH ROW WHEN (NEW.status <> OLD.status AND NEW.status NOT IN ('consumed', 'pending'))
    EXECUTE FUNCTION liyagent_tell_of_request();
"""
NO_TRIGGERS = """
DROP TRIGGER approvals_approval_tell_changed ON approvals_approval;
DROP TRIGGER approvals_approval_tell_filed ON approvals_approval;
DROP FUNCTION liyagent_tell_of_request();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0001_initial"),
        ("audit", "0002_auditrow_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("webhook_id", models.UUIDField(editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("filed", "Filed"),
                            ("decided", "Decided"),
                            ("expired", "Expired"),
                            ("withdrawn", "Withdrawn"),
                            ("stale", "Stale"),
                            ("reminder", "Reminder"),
                        ],
                        max_length=12,
                    ),
                ),
                ("status", models.CharField(max_length=12)),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("delivered", "Delivered"),
                            ("dead", "Dead"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("next_at", models.DateTimeField()),
                ("give_up_at", models.DateTimeField()),
                ("claimed_until", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.IntegerField(default=0)),
                ("failures", models.IntegerField(default=0)),
                ("last_error", models.CharField(blank=True, max_length=300)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "approval",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="approvals.approval",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["next_at", "id"],
                        name="approvals_notice_due",
                    ),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["approval", "id"],
                        name="approvals_notice_in_order",
                    ),
                    models.Index(
                        condition=models.Q(("failures__gt", 0), ("state", "pending")),
                        fields=["created_at"],
                        name="approvals_notice_failing",
                    ),
                    models.Index(
                        condition=models.Q(("state", "delivered")),
                        fields=["settled_at"],
                        name="approvals_notice_delivered",
                    ),
                    models.Index(
                        condition=models.Q(("state", "dead")),
                        fields=["settled_at"],
                        name="approvals_notice_dead",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                ["filed", "decided", "expired", "withdrawn", "stale", "reminder"],
                            )
                        ),
                        name="approvals_notice_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "delivered", "dead"])),
                        name="approvals_notice_state",
                    ),
                ],
            },
        ),
        migrations.RunSQL(TELL, "DROP FUNCTION liyagent_tell_of(approvals_approval, text)"),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
    ]
