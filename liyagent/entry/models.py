"""What came in by a way, and the answers that are owed for it (ruling 29)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class ArrivalState(models.TextChoices):
    """Where an arrival stands. Skipped: on purpose, as its trigger says. Refused: nothing was started, `reason` says why."""

    RECEIVED = "received"
    STARTED = "started"
    ENDED = "ended"
    REFUSED = "refused"
    SKIPPED = "skipped"


class Arrival(models.Model):
    """One delivery, fire or activity: stored before anybody is answered, and one run at most, whatever comes again.

    `run_id` is made with the row: whoever starts the run, however often, starts that one. `delivery_id` names it within its
    `source` (a trigger, a bot). `sealed` are the words to start with, gone once the run has them. `outcome` is the run's
    last status, written by a trigger in the commit that ends it.
    """

    run_id = models.UUIDField(primary_key=True, editable=False)
    way = models.CharField(max_length=20)
    source = models.CharField(max_length=80)
    delivery_id = models.CharField(max_length=255)
    body_digest = models.CharField(max_length=64, blank=True)
    agent_key = models.CharField(max_length=80)
    started_by = models.CharField(max_length=150)
    mission = models.CharField(max_length=128, blank=True)
    request_id = models.CharField(max_length=128, blank=True)
    sealed = models.BinaryField(null=True, blank=True)
    key_id = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=ArrivalState.choices)
    reason = models.CharField(max_length=500, blank=True)
    outcome = models.CharField(max_length=12, blank=True)
    received_at = models.DateTimeField()
    next_at = models.DateTimeField()
    give_up_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True, blank=True)
    claimed_by = models.UUIDField(null=True, blank=True)
    attempts = models.IntegerField(default=0)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-received_at",)
        constraints = (
            models.CheckConstraint(
                name="entry_arrival_state", condition=Q(state__in=ArrivalState.values)
            ),
            models.UniqueConstraint(
                name="entry_one_arrival_per_delivery", fields=["way", "source", "delivery_id"]
            ),
        )
        indexes = (
            models.Index(
                fields=["next_at"], name="entry_arrival_due", condition=Q(state="received")
            ),
            # What of a source goes on: a cron fire looks here for the one before.
            models.Index(
                fields=["way", "source", "run_id"],
                name="entry_arrival_open",
                condition=Q(state__in=["received", "started"]),
            ),
            # Of all ways and of one, as they are listed.
            models.Index(fields=["-received_at", "-run_id"], name="entry_arrival_newest"),
            models.Index(fields=["way", "-received_at", "-run_id"], name="entry_arrival_of_way"),
            # In an order that no other index has: else the ids of all ways are walked through for a quiet source.
            models.Index(fields=["way", "source", "-received_at"], name="entry_arrival_by_time"),
            models.Index(
                fields=["mission", "-received_at", "-run_id"],
                name="entry_arrival_of_mission",
                condition=~Q(mission=""),
            ),
            models.Index(
                fields=["-run_id"],
                name="entry_arrival_of_hooks",
                condition=Q(way__in=["webhook", "ticket"]),
            ),
            models.Index(
                fields=["-received_at", "-run_id"],
                name="entry_arrival_refusals",
                condition=Q(state="refused"),
            ),
            models.Index(
                fields=["ended_at"],
                name="entry_arrival_old",
                condition=Q(state__in=["ended", "refused", "skipped"]),
            ),
        )

    def __str__(self) -> str:
        return f"{self.way} {self.source} {self.delivery_id}"


class DeliveryState(models.TextChoices):
    """Whether an answer was handed on. Waiting: for the run's end. Unconfirmed: sent, and nobody can tell if it arrived.

    Closed: a person has said that a dead or unconfirmed one is not to be sent any more.
    """

    WAITING = "waiting"
    PENDING = "pending"
    DELIVERED = "delivered"
    UNCONFIRMED = "unconfirmed"
    DEAD = "dead"
    CLOSED = "closed"


class Delivery(models.Model):
    """Something owed to whoever is at the other end of a way: an answer, a card, a word that a task moved on.

    Its words are not here: the answer is the run's own, sealed, read when it is sent (CR-08). `address` is where it goes;
    `vendor_id` names it there once it is known. `marked_at` is set just before bytes leave, and cleared when what came of
    them is known: found set by a later claim, the earlier sending is in doubt. Where a run is told to several, the
    `config` of `address` is which: one of them waits for no other's.
    """

    run_id = models.UUIDField()
    way = models.CharField(max_length=20)
    kind = models.CharField(max_length=20)
    number = models.IntegerField(default=0)
    address = models.JSONField(default=dict)
    vendor_id = models.CharField(max_length=300, blank=True, db_default="", default="")
    state = models.CharField(max_length=12, choices=DeliveryState.choices)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField()
    give_up_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True, blank=True)
    claimed_by = models.UUIDField(null=True, blank=True)
    marked_at = models.DateTimeField(null=True, blank=True)
    attempts = models.IntegerField(default=0, db_default=0)
    failures = models.IntegerField(default=0, db_default=0)
    last_error = models.CharField(max_length=300, blank=True, db_default="", default="")
    settled_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.CharField(max_length=150, blank=True, db_default="", default="")
    closed_why = models.CharField(max_length=500, blank=True, db_default="", default="")

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "deliveries"
        constraints = (
            models.CheckConstraint(
                name="entry_delivery_state", condition=Q(state__in=DeliveryState.values)
            ),
            models.UniqueConstraint(
                name="entry_one_delivery_of_a_kind", fields=["run_id", "kind", "number"]
            ),
        )
        indexes = (
            models.Index(
                fields=["way", "next_at", "id"],
                name="entry_delivery_due",
                condition=Q(state="pending"),
            ),
            models.Index(
                fields=["run_id", "id"], name="entry_delivery_open", condition=Q(state="pending")
            ),
            models.Index(
                fields=["settled_at"],
                name="entry_delivery_over",
                condition=Q(state__in=["delivered", "unconfirmed", "dead", "closed"]),
            ),
            models.Index(
                fields=["-id"],
                name="entry_delivery_dead",
                condition=Q(state__in=["unconfirmed", "dead"]),
            ),
            models.Index(fields=["state", "-id"], name="entry_delivery_by_state"),
        )

    def __str__(self) -> str:
        return f"{self.kind} of run {self.run_id} by {self.way}, {self.state}"
