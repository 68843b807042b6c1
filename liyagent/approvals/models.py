"""Requests to people. A decision is one conditional update; what was asked never changes."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from liyagent.approvals.handlers import CALL


class ApprovalStatus(models.TextChoices):
    """Where a request stands.

    Stale: what was approved is no longer what would be sent. Consumed: the approved call is on its way, or was made.
    """

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    STALE = "stale"
    CONSUMED = "consumed"


def no_facts() -> dict[str, Any]:
    """A ceiling of which nothing is known."""
    return {}


class Approval(models.Model):
    """One request. Rows of kind `call` are written by `liyagent_hold`, in the commit that marks the call as held.

    `digest` covers the exact canonical bytes to be sent, server, tool, agent, run-as and policy fingerprint
    (ruling 23); `sealed` are the arguments. `ceiling` is what the call could at most use when it was filed.
    `run_waits`: the run sleeps until it is decided; else an approval makes the call in a run of its own.
    `replaces`: the request that went stale before this one. `settled_reason` says why it is rejected, withdrawn or stale;
    `settled_at`, written by a trigger, when it left `pending` and `approved` for good. `handoff_digest`, of kind `saga`: what
    was handed over with it, as `handoffs` keeps it (HO-03).
    """

    id = models.UUIDField(primary_key=True, editable=False)
    kind = models.CharField(max_length=30, default=CALL)
    status = models.CharField(
        max_length=12, choices=ApprovalStatus.choices, default=ApprovalStatus.PENDING
    )
    run_id = models.UUIDField()
    correlation_id = models.UUIDField()
    step = models.IntegerField()
    index = models.IntegerField()
    run_waits = models.BooleanField()
    mission = models.CharField(max_length=128)
    agent_key = models.CharField(max_length=80)
    entry = models.CharField(max_length=40)
    requested_by = models.CharField(max_length=150, blank=True)
    run_as = models.CharField(max_length=150, blank=True)
    server = models.CharField(max_length=80)
    tool = models.CharField(max_length=200)
    gate = models.CharField(max_length=40)
    held_reason = models.TextField()
    digest = models.CharField(max_length=64)
    policy_fingerprint = models.CharField(max_length=64)
    ceiling = models.JSONField(default=no_facts)
    ceiling_digest = models.CharField(max_length=64)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    replaces = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    remind_at = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=150, blank=True)
    decision_reason = models.CharField(max_length=500, blank=True)
    settled_reason = models.TextField(blank=True)
    consumed_at = models.DateTimeField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    handoff_digest = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        ordering = ("created_at", "id")
        permissions = (("decide", "Can decide about what waits for a person"),)
        constraints = (
            models.CheckConstraint(
                name="approvals_status", condition=Q(status__in=ApprovalStatus.values)
            ),
            models.UniqueConstraint(
                name="approvals_one_open_request_per_call",
                fields=["run_id", "step", "index"],
                condition=Q(kind=CALL, status__in=["pending", "approved"]),
            ),
        )
        indexes = (
            models.Index(
                fields=["created_at", "id"],
                name="approvals_pending",
                condition=Q(status="pending"),
            ),
            models.Index(
                fields=["expires_at"],
                name="approvals_by_expiry",
                condition=Q(status="pending"),
            ),
            models.Index(
                fields=["remind_at"],
                name="approvals_by_reminder",
                condition=Q(status="pending", remind_at__isnull=False),
            ),
            models.Index(
                fields=["digest"], name="approvals_same_digest", condition=Q(status="pending")
            ),
            models.Index(fields=["-created_at", "-id"], name="approvals_newest"),
            models.Index(fields=["status", "-created_at", "-id"], name="approvals_by_status"),
            models.Index(fields=["run_id"], name="approvals_by_run"),
            models.Index(
                fields=["replaces"],
                name="approvals_by_replaced",
                condition=Q(replaces__isnull=False),
            ),
            models.Index(fields=["mission", "-created_at"], name="approvals_of_mission"),
        )

    def __str__(self) -> str:
        return f"{self.server}/{self.tool} of {self.agent_key}, {self.status}"

    @property
    def name(self) -> str:
        """`server/tool`."""
        return f"{self.server}/{self.tool}"


class NoticeKind(models.TextChoices):
    """What a notice tells of a request. Decided: approved or rejected, as its status says."""

    FILED = "filed"
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    STALE = "stale"
    REMINDER = "reminder"


class NoticeState(models.TextChoices):
    """Whether a notice was told. Dead: given up after a day, `last_error` says why."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class Notice(models.Model):
    """What is to be told of a request, written by a trigger in the commit of what it tells (DECISIONS.md).

    `status` and `decided_by` are the request's at that moment; all else that is told of it never changes, so that a
    notice has the same words however often it is sent. `webhook_id` is the same each time, too. `attempts` counts every
    claim and fences the one who marks; `failures` those since it was last begun with, and spaces the next.
    """

    webhook_id = models.UUIDField(editable=False)
    approval = models.ForeignKey(
        Approval, on_delete=models.CASCADE, related_name="notices", db_index=False
    )
    kind = models.CharField(max_length=12, choices=NoticeKind.choices)
    status = models.CharField(max_length=12)
    decided_by = models.CharField(max_length=150, blank=True)
    state = models.CharField(
        max_length=12, choices=NoticeState.choices, default=NoticeState.PENDING
    )
    created_at = models.DateTimeField()
    next_at = models.DateTimeField()
    give_up_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True, blank=True)
    claimed_by = models.UUIDField(null=True, blank=True)
    attempts = models.IntegerField(default=0)
    failures = models.IntegerField(default=0)
    last_error = models.CharField(max_length=300, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                name="approvals_notice_kind", condition=Q(kind__in=NoticeKind.values)
            ),
            models.CheckConstraint(
                name="approvals_notice_state", condition=Q(state__in=NoticeState.values)
            ),
        )
        indexes = (
            models.Index(
                fields=["next_at", "id"],
                name="approvals_notice_due",
                condition=Q(state="pending"),
            ),
            models.Index(
                fields=["approval", "id"],
                name="approvals_notice_in_order",
                condition=Q(state="pending"),
            ),
            models.Index(
                fields=["created_at"],
                name="approvals_notice_failing",
                condition=Q(state="pending", failures__gt=0),
            ),
            models.Index(
                fields=["settled_at"],
                name="approvals_notice_delivered",
                condition=Q(state="delivered"),
            ),
            models.Index(
                fields=["settled_at"], name="approvals_notice_dead", condition=Q(state="dead")
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} of request {self.approval_id}, {self.state}"
