"""The audit log, whose rows are added and never changed (ruling 28), and the confidential concerns that its writer obeys."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform

from liyagent.audit.detail import Detail


class AuditRow(models.Model):
    """One thing that happened: `action` in dotted words, `detail` plain facts without anybody's words.

    `agent` is the agent that did it, or in whose run it was done; `address` the client's, where a request did it. A
    confidential row was written under a concern: it bears no mission, request id or address (MI-03).
    """

    at = models.DateTimeField()
    action = models.CharField(max_length=80)
    actor = models.CharField(max_length=200, blank=True)
    agent = models.CharField(max_length=80, blank=True, db_default="")
    mission = models.CharField(max_length=128, blank=True)
    correlation_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    address = models.CharField(max_length=64, blank=True, db_default="")
    is_confidential = models.BooleanField(db_default=False)
    detail = Detail(default=dict)

    class Meta:
        ordering = ("-id",)
        verbose_name = "audit row"
        indexes = (
            models.Index(fields=["run_id", "id"], name="audit_by_run"),
            models.Index(fields=["mission", "id"], name="audit_by_mission"),
            models.Index(fields=["action", "id"], name="audit_by_action"),
            models.Index(fields=["actor", "id"], name="audit_by_actor"),
            models.Index(fields=["agent", "id"], name="audit_by_agent"),
            models.Index(fields=["at"], name="audit_by_time"),
            # One that is gone from the table of hand-offs is missed by it.
            models.Index(
                KeyTextTransform("thread", "detail"),
                name="audit_hand_offs",
                condition=Q(action="agent.handoff"),
            ),
            # The runs that were started under a concern: what is written of them later stays as it began.
            models.Index(
                fields=["correlation_id"],
                name="audit_started_in_confidence",
                condition=Q(is_confidential=True, action="agent.run.started"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.action}"


class About(models.TextChoices):
    """What a concern is about: whose rows, or the rows of which mission, bear no stamps while it is open."""

    ACTOR = "actor", "what somebody does"
    MISSION = "mission", "a mission"


class Concern(models.Model):
    """Something that is looked into in confidence. `reference` names where its words are kept: none of them are kept here."""

    about = models.CharField(max_length=10, choices=About.choices)
    subject = models.CharField(max_length=200)
    reference = models.CharField(max_length=120, blank=True)
    opened_by = models.CharField(max_length=200)
    opened_at = models.DateTimeField()
    closed_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        default_permissions = ("view",)
        permissions = (("handle_concern", "Can open and close confidential concerns"),)
        constraints = (
            models.CheckConstraint(condition=Q(about__in=About.values), name="audit_concern_about"),
            # Also what leads the writer of audit rows to those that are open.
            models.UniqueConstraint(
                fields=["about", "subject"],
                condition=Q(closed_at=None),
                name="audit_one_open_concern",
            ),
        )

    def __str__(self) -> str:
        return f"Concern {self.pk}"
