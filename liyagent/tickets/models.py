"""Tickets and what people wrote on them. Only verbs write here; nothing is deleted."""

from __future__ import annotations

from django.db import models
from django.db.models import Func, Q

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())
QUEUE = "Service Desk L1"
LONGEST_QUEUE, LONGEST_SUBJECT = 80, 200
# A number has six digits at the least.
DIGITS = 6


class TicketState(models.TextChoices):
    """Where a ticket stands. Closed is the end: nothing of it changes any more."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    RESOLVED = "resolved"
    CLOSED = "closed"


class Priority(models.TextChoices):
    """How soon somebody has to look: P1 at once, P4 when there is time."""

    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"


class Ticket(models.Model):
    """One piece of work for people. Of a source (`source_kind`, `source_id`: a saga and its root run's id) there is one at most.

    `subject` is plain and bears no words of a run: lists show it. `sealed` is the body, under a key of this ticket's id.
    `revision` rises with each change by a person and fences the next; `comments` counts what was written on it, and is no
    change of that kind. `changed_by` is "" until somebody changes it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    serial = models.BigIntegerField(unique=True, editable=False)
    state = models.CharField(max_length=12, choices=TicketState.choices, default=TicketState.OPEN)
    priority = models.CharField(max_length=2, choices=Priority.choices)
    queue = models.CharField(max_length=LONGEST_QUEUE, default=QUEUE)
    subject = models.CharField(max_length=LONGEST_SUBJECT)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    source_kind = models.CharField(max_length=30)
    source_id = models.CharField(max_length=128)
    mission = models.CharField(max_length=128)
    correlation_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    agent_key = models.CharField(max_length=80, blank=True)
    created_by = models.CharField(max_length=150)
    changed_by = models.CharField(max_length=150, blank=True, default="")
    revision = models.IntegerField(default=0)
    comments = models.IntegerField(default=0)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-serial",)
        permissions = (("work", "Can comment on tickets and change them, and reads their words"),)
        constraints = (
            models.CheckConstraint(name="tickets_state", condition=Q(state__in=TicketState.values)),
            models.CheckConstraint(
                name="tickets_priority", condition=Q(priority__in=Priority.values)
            ),
            models.CheckConstraint(
                name="tickets_closed_at",
                condition=Q(state="closed", closed_at__isnull=False)
                | (~Q(state="closed") & Q(closed_at__isnull=True)),
            ),
            models.UniqueConstraint(
                name="tickets_one_per_source", fields=["source_kind", "source_id"]
            ),
        )
        indexes = (
            models.Index(fields=["state", "-serial"], name="tickets_by_state"),
            models.Index(
                fields=["state", "priority", "-serial"], name="tickets_by_state_and_priority"
            ),
            models.Index(fields=["priority", "-serial"], name="tickets_by_priority"),
            models.Index(fields=["queue", "-serial"], name="tickets_by_queue"),
            models.Index(fields=["mission", "-serial"], name="tickets_of_mission"),
            models.Index(
                fields=["run_id"], name="tickets_of_run", condition=Q(run_id__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """What people call it, such as `T-000123`."""
        return f"T-{self.serial:0{DIGITS}d}"

    @property
    def source(self) -> str:
        """What it was filed for, such as `saga:<id of the root run>`."""
        return f"{self.source_kind}:{self.source_id}"


class Comment(models.Model):
    """What a person wrote on a ticket: sealed under a key of its own id. `place` counts within the ticket, from 1."""

    id = models.UUIDField(primary_key=True, editable=False)
    ticket = models.ForeignKey(Ticket, on_delete=models.PROTECT, db_index=False)
    place = models.IntegerField()
    by = models.CharField(max_length=150)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("ticket", "place")
        default_permissions = ()
        constraints = (
            models.CheckConstraint(name="tickets_comment_place", condition=Q(place__gt=0)),
            models.UniqueConstraint(name="tickets_comments_in_order", fields=["ticket", "place"]),
        )

    def __str__(self) -> str:
        return f"comment {self.place} on {self.ticket_id}"
