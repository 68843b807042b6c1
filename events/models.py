"""The event log's tables. Rows are written by the SQL function `liyagent_append_events` alone."""

from __future__ import annotations

from django.db import models


class RunEvent(models.Model):
    """One event. The hash covers the stored text of `content` and every other column (ruling 24)."""

    pk = models.CompositePrimaryKey("correlation_id", "number")
    correlation_id = models.UUIDField()
    number = models.BigIntegerField()
    run_id = models.UUIDField()
    at = models.DateTimeField()
    kind = models.CharField(max_length=40)
    mission = models.CharField(max_length=128)
    recording = models.CharField(max_length=10)
    content = models.TextField()
    hash = models.BinaryField()

    class Meta:
        ordering = ("correlation_id", "number")
        verbose_name = "run event"

    def __str__(self) -> str:
        return f"{self.correlation_id} {self.number} {self.kind}"


class EventHead(models.Model):
    """Where the chain of a correlation id stands: how many events, and the hash of the last."""

    correlation_id = models.UUIDField(primary_key=True)
    count = models.BigIntegerField(default=0)
    hash = models.BinaryField()

    class Meta:
        verbose_name = "event head"

    def __str__(self) -> str:
        return f"{self.correlation_id} at {self.count}"
