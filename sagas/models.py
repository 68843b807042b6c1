"""Sagas and undos. Their rows are written by `sql/saga.sql`, in the commits of runs; these classes are for reading."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.db.models import Q


class SagaStatus(models.TextChoices):
    """Where a saga stands (SG-11). Handed off: given to a person with nothing of it undone by us."""

    OPEN = "open"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    PARTIAL = "partial"
    HANDED_OFF = "handed_off"
    CLOSED = "closed"


class UndoFate(models.TextChoices):
    """What became of an undo. Missing: its arguments could not be resolved, so it never can be made."""

    OWED = "owed"
    DONE = "done"
    HELD = "held"
    FAILED = "failed"
    UNKNOWN = "unknown"
    MISSING = "missing"


class Handoff(models.TextChoices):
    """How a failed run is put before a person (SG-09)."""

    APPROVAL = "approval"
    TICKET = "ticket"
    NONE = "none"


class Saga(models.Model):
    """What a root run, its branches and its sub-agents did that can be undone. `id` is the root run's.

    `cause` is why it is undone: `failed`, `stopped`, `rejected`, `cap`, "" while it is open. `round` counts the runs that
    made undos; `compensating_run` is the last of them. `handoff` is how it goes to a person, "" where nothing of it does;
    `handoff_id` what was filed (a request's id, a ticket's number), once, at `handed_off_at`; `handoff_digest` what was
    handed over with it, as `handoffs` keeps it (HO-03). `context` is sealed: the failed step, the attempts, input and
    variables, as they were when the run ended.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    agent_key = models.CharField(max_length=80)
    workflow = models.CharField(max_length=80, blank=True, default="")
    mission = models.CharField(max_length=128)
    status = models.CharField(max_length=12, choices=SagaStatus.choices, default=SagaStatus.OPEN)
    cause = models.CharField(max_length=10, blank=True, default="")
    failed_step = models.CharField(max_length=80, blank=True, default="")
    registered = models.IntegerField(default=0)
    round = models.IntegerField(default=0)
    compensating_run = models.UUIDField(null=True, blank=True)
    handoff = models.CharField(max_length=10, blank=True, default="")
    handoff_id = models.CharField(max_length=128, blank=True, default="")
    handoff_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    handed_off_at = models.DateTimeField(null=True, blank=True)
    context = models.BinaryField(null=True, blank=True)
    key_id = models.CharField(max_length=64, blank=True, default="")
    closed_by = models.CharField(max_length=150, blank=True, default="")
    closed_reason = models.CharField(max_length=500, blank=True, default="")
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(name="sagas_status", condition=Q(status__in=SagaStatus.values)),
            models.CheckConstraint(
                name="sagas_handoff", condition=Q(handoff__in=["", *Handoff.values])
            ),
        )
        indexes = (
            models.Index(fields=["agent_key", "-created_at", "-id"], name="sagas_of_agent"),
            models.Index(fields=["-created_at", "-id"], name="sagas_newest"),
            models.Index(fields=["status", "-created_at", "-id"], name="sagas_by_status"),
            models.Index(fields=["mission", "-created_at", "-id"], name="sagas_of_mission"),
            # Of what people have to look after there is little beside what answered and was closed.
            models.Index(
                fields=["-created_at", "-id"],
                name="sagas_left",
                condition=Q(status__in=["partial", "handed_off"]),
            ),
            models.Index(
                fields=["changed_at"],
                name="sagas_to_hand_off",
                condition=Q(handed_off_at__isnull=True, handoff__in=["approval", "ticket"]),
            ),
        )

    def __str__(self) -> str:
        return str(self.id)

    @property
    def request(self) -> UUID | None:
        """The request that was filed for it, None where none was, or where its row names none."""
        if self.handoff != Handoff.APPROVAL:
            return None
        try:
            return UUID(self.handoff_id)
        except ValueError:
            return None


class Undo(models.Model):
    """How one write is undone: `server`/`tool` with sealed arguments, fixed when the write took effect (SG-03).

    `of_server`/`of_tool` is the write, call `index` of step `step` of run `run_id`. `order` counts within the saga: undone
    from the highest down. `key` is the step key that it is sent under, from the run and the step (SG-06). `tries` counts
    its sendings in the last round; `approval` is the request that it is held for; `outcome` says, sealed, what was answered last; `note` what
    we say of it ourselves.
    """

    saga_id = models.UUIDField()
    order = models.IntegerField()
    run_id = models.UUIDField()
    step = models.IntegerField()
    index = models.IntegerField()
    agent_key = models.CharField(max_length=80)
    of_server = models.CharField(max_length=80)
    of_tool = models.CharField(max_length=200)
    server = models.CharField(max_length=80)
    tool = models.CharField(max_length=200)
    key = models.CharField(max_length=80)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    fate = models.CharField(max_length=10, choices=UndoFate.choices, default=UndoFate.OWED)
    tries = models.IntegerField(default=0)
    approval = models.UUIDField(null=True, blank=True)
    outcome = models.BinaryField(null=True, blank=True)
    note = models.CharField(max_length=500, blank=True, default="")
    registered_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("saga_id", "-order")
        constraints = (
            models.UniqueConstraint(name="sagas_one_order", fields=["saga_id", "order"]),
            models.UniqueConstraint(
                name="sagas_one_undo_per_call", fields=["run_id", "step", "index"]
            ),
            models.UniqueConstraint(name="sagas_one_undo_per_key", fields=["key"]),
            models.CheckConstraint(name="sagas_undo_fate", condition=Q(fate__in=UndoFate.values)),
        )
        indexes = (
            models.Index(
                fields=["approval"],
                name="sagas_held",
                condition=Q(approval__isnull=False),
            ),
            models.Index(fields=["key_id"], name="sagas_by_key"),
        )

    def __str__(self) -> str:
        return f"undo {self.order} of {self.saga_id}"
