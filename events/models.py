"""The event log's tables. Rows are written by the SQL function `liyagent_append_events` alone."""

from __future__ import annotations

from django.db import models


class RunEvent(models.Model):
    """One event. The hash covers the stored text of `content` and every other column but the tag (ruling 24).

    `tag` shows that who wrote it had a key of ours (`events.tags`); empty in what SQL alone writes, and in rows of releases
    before there were tags.
    """

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
    tag = models.BinaryField(db_default=b"")

    class Meta:
        ordering = ("correlation_id", "number")
        verbose_name = "run event"

    def __str__(self) -> str:
        return f"{self.correlation_id} {self.number} {self.kind}"


class EventHead(models.Model):
    """Where the chain of a correlation id stands: how many events, and the hash of the last.

    `seal` is an HMAC over what stood when it was sealed last: `sealed_count` events, in root number `sealed_in`.
    `is_unsealed` since something was appended after that; it alone is indexed, so that appending touches no index.
    The first `untagged` events are of releases that made no tags.
    """

    correlation_id = models.UUIDField(primary_key=True)
    count = models.BigIntegerField(default=0)
    hash = models.BinaryField()
    is_unsealed = models.BooleanField(db_default=False)
    sealed_count = models.BigIntegerField(db_default=0)
    sealed_in = models.BigIntegerField(null=True)
    seal = models.BinaryField(db_default=b"")
    seal_key = models.CharField(max_length=64, db_default="")
    untagged = models.BigIntegerField(db_default=0)

    class Meta:
        verbose_name = "event head"
        indexes = (
            models.Index(
                fields=["correlation_id"],
                condition=models.Q(is_unsealed=True),
                name="events_unsealed",
            ),
        )

    def __str__(self) -> str:
        return f"{self.correlation_id} at {self.count}"
