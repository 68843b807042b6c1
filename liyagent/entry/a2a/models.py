"""Tasks as their callers know them, and where callers want to be told of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class State(models.TextChoices):
    """Where a task stands. Written by triggers alone, in the commit that changes its run; an ended one never moves."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


ENDED = (State.COMPLETED, State.FAILED, State.CANCELED, State.REJECTED)
# What a caller waits for: the end, or that something is wanted.
SETTLED = (*ENDED, State.INPUT_REQUIRED)


class Task(models.Model):
    """What A2A calls a task is the run of the same id; this is what only the protocol wants to know of it.

    `sealed` is the message that it began with, under the run's own key. `told` counts what its push configurations were
    owed, so that each delivery has a number of its own. `traceparent` is the caller's, told back and not used.
    """

    run_id = models.UUIDField(primary_key=True, editable=False)
    agent_key = models.CharField(max_length=80)
    owner = models.CharField(max_length=150)
    context_id = models.CharField(max_length=128)
    message_id = models.CharField(max_length=255)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    traceparent = models.CharField(max_length=55, blank=True, db_default="", default="")
    state = models.CharField(
        max_length=14, choices=State.choices, default=State.SUBMITTED, db_default="submitted"
    )
    told = models.IntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-changed_at", "-run_id")
        constraints = (
            models.CheckConstraint(name="a2a_task_state", condition=Q(state__in=State.values)),
            models.CheckConstraint(
                name="a2a_task_ended",
                condition=Q(state__in=ENDED, ended_at__isnull=False)
                | (~Q(state__in=ENDED) & Q(ended_at__isnull=True)),
            ),
        )
        indexes = (
            models.Index(
                fields=["owner", "agent_key", "-changed_at", "-run_id"], name="a2a_task_newest"
            ),
            models.Index(
                fields=["owner", "agent_key", "state", "-changed_at", "-run_id"],
                name="a2a_task_by_state",
            ),
            models.Index(
                fields=["owner", "agent_key", "context_id", "-changed_at", "-run_id"],
                name="a2a_task_of_context",
            ),
            models.Index(
                fields=["owner", "agent_key", "context_id", "state", "-changed_at", "-run_id"],
                name="a2a_task_turns",
            ),
            models.Index(
                fields=["owner"], name="a2a_task_open", condition=Q(ended_at__isnull=True)
            ),
            models.Index(
                fields=["ended_at"], name="a2a_task_old", condition=Q(ended_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return str(self.run_id)

    @property
    def is_ended(self) -> bool:
        """Whether it never moves again."""
        return self.state in ENDED


class PushConfig(models.Model):
    """Where a caller wants to be told of a task. `sealed` is what it is to be told with: token and credentials.

    `version` is the protocol's that it was set by: what is sent has that form.
    """

    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="configs")
    config_id = models.CharField(max_length=128)
    owner = models.CharField(max_length=150)
    url = models.CharField(max_length=2000)
    version = models.CharField(max_length=3)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                name="a2a_one_push_config", fields=["task", "owner", "config_id"]
            ),
        )

    def __str__(self) -> str:
        return f"{self.config_id} of task {self.task_id}"
