"""Triggers that start runs by the clock. Their fires are arrivals (`liyagent/entry/models.py`)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Func, Q, QuerySet

from liyagent.entry.models import Arrival

WAY = "cron"
NOW = Func(function="liyagent_now", output_field=models.DateTimeField())


class Overlap(models.TextChoices):
    """What becomes of a slot while the run of an earlier one goes on: it is recorded, and not started (ruling 31)."""

    SKIP = "skip"


class CronTrigger(models.Model):
    """An agent that is asked the same task at the slots of a schedule, in a time zone.

    `next_slot` is the next instant that it fires at, null while it is paused; `last_slot` the last one that was dealt
    with. `problem` says why it stands still though it is not paused: its slots cannot be told.
    """

    key = models.CharField(max_length=80, unique=True)
    agent_key = models.CharField(max_length=80)
    task = models.TextField()
    schedule = models.CharField(max_length=200)
    timezone = models.CharField(max_length=64, default="UTC")
    is_enabled = models.BooleanField(default=True)
    catch_up = models.BooleanField(default=True)
    overlap = models.CharField(max_length=10, choices=Overlap.choices, default=Overlap.SKIP)
    started_by = models.CharField(max_length=150)
    next_slot = models.DateTimeField(null=True, blank=True)
    last_slot = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True, db_default="", default="")
    saved_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("key",)
        verbose_name = "cron trigger"
        constraints = (
            models.CheckConstraint(name="cron_overlap", condition=Q(overlap__in=Overlap.values)),
            models.CheckConstraint(
                name="cron_fires_while_enabled",
                condition=Q(is_enabled=True, next_slot__isnull=False)
                | Q(is_enabled=False, next_slot__isnull=True),
            ),
        )
        indexes = (
            models.Index(
                fields=["next_slot"],
                name="cron_trigger_due",
                condition=Q(next_slot__isnull=False, problem=""),
            ),
        )

    def __str__(self) -> str:
        return self.key


class FireManager(models.Manager["CronFire"]):
    """The arrivals that came in by cron."""

    def get_queryset(self) -> QuerySet[CronFire]:
        """Return them alone."""
        return super().get_queryset().filter(way=WAY)


class CronFire(Arrival):
    """An arrival that came in by cron: a slot that was fired, skipped or missed, or a run that was asked for by hand."""

    objects: ClassVar[Any] = FireManager()

    class Meta:
        proxy = True
        ordering = ("-received_at", "-run_id")
        default_permissions = ()
        verbose_name = "cron fire"

    def __str__(self) -> str:
        return f"{self.source} {self.delivery_id}"
