"""Jobs: background work, its cursor, and which process has it."""

from __future__ import annotations

from django.db import models
from django.db.models import Func, Q

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())
LIVE = ("queued", "running")


class JobStatus(models.TextChoices):
    """`interrupted`: its process stopped, and its kind cannot go on (CR-31)."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Job(models.Model):
    """One piece of background work of a kind about one thing: a source, an agent.

    `cursor` is what was done, in the words of its kind: whoever takes the job goes on from it. `attempt` rises with every
    take and fences each write. `losses` counts how often its process was lost with it, `losses_here` how often since the
    last step that was kept. `done` of `total` (null where nobody knows) and `words` tell of its progress, `result` of what came
    of it. `after_end_at`: when what its kind owes after the end is next to be done, null where nothing is. `mission` is the
    one named by whoever asked, else the id of that request, which is `request_id`.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=200)
    params = models.JSONField(default=dict)
    cursor = models.JSONField(default=dict)
    status = models.CharField(max_length=12, choices=JobStatus.choices, default=JobStatus.QUEUED)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    words = models.CharField(max_length=500, blank=True, default="")
    result = models.JSONField(default=dict, db_default={})
    claimed_by = models.UUIDField(null=True)
    attempt = models.IntegerField(default=0)
    losses = models.IntegerField(default=0)
    losses_here = models.IntegerField(default=0)
    next_at = models.DateTimeField()
    asked_by = models.CharField(max_length=150)
    mission = models.CharField(max_length=128, blank=True, default="")
    request_id = models.CharField(max_length=128, blank=True, default="", db_default="")
    reason = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    after_end_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(name="jobs_status", condition=Q(status__in=JobStatus.values)),
            models.CheckConstraint(
                name="jobs_claimed_while_running",
                condition=Q(status="running", claimed_by__isnull=False)
                | (~Q(status="running") & Q(claimed_by__isnull=True)),
            ),
            models.CheckConstraint(
                name="jobs_ended_at",
                condition=Q(status__in=LIVE, ended_at__isnull=True)
                | (~Q(status__in=LIVE) & Q(ended_at__isnull=False)),
            ),
            # Never two of a kind about one thing at a time.
            models.UniqueConstraint(
                name="jobs_one_at_a_time",
                fields=["kind", "subject"],
                condition=Q(status__in=LIVE),
            ),
        )
        indexes = (
            models.Index(fields=["next_at"], name="jobs_due", condition=Q(status__in=LIVE)),
            models.Index(fields=["kind", "subject", "-id"], name="jobs_of_a_subject"),
            models.Index(
                fields=["mission", "-id"], name="jobs_of_mission", condition=~Q(mission="")
            ),
            models.Index(
                fields=["ended_at"], name="jobs_ended", condition=Q(ended_at__isnull=False)
            ),
            models.Index(
                fields=["after_end_at"],
                name="jobs_after_end",
                condition=Q(after_end_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject}"

    @property
    def is_live(self) -> bool:
        """Whether it may still be worked on."""
        return self.status in LIVE
