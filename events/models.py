"""The event log's tables. Rows are written by the SQL function `liyagent_append_events` alone."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Cast


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
        indexes = (
            # Of a mission that nobody named, the chain bears the id.
            models.Index(
                fields=["mission", "at", "correlation_id", "number"],
                name="events_of_named_mission",
                condition=~models.Q(mission=Cast("correlation_id", models.TextField())),
            ),
        )

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


class PurgeCertificate(models.Model):
    """That a chain of `count` events up to `hash` was purged, when, and how long it had rested. Append-only (ruling 28).

    `last_at` is when its last event was written, None where it had none; `kept_days` what was to pass since. Made by
    `liyagent_purge_events`, which may purge a chain because this stands. `asked_by` is the database role that asked.
    """

    number = models.BigAutoField(primary_key=True)
    correlation_id = models.UUIDField(unique=True)
    count = models.BigIntegerField()
    hash = models.BinaryField()
    last_at = models.DateTimeField(null=True)
    kept_days = models.IntegerField()
    at = models.DateTimeField()
    asked_by = models.CharField(max_length=63)

    class Meta:
        ordering = ("number",)
        default_permissions = ("view",)
        verbose_name = "purge certificate"

    def __str__(self) -> str:
        return f"purge {self.number} of {self.correlation_id}"


class Retention(models.Model):
    """One row: how many days events are kept at the least, 0 for good. Only who owns it may change it, and that is audited."""

    id = models.SmallIntegerField(primary_key=True)
    days = models.IntegerField()

    class Meta:
        default_permissions = ()
        constraints = (
            models.CheckConstraint(name="events_one_retention", condition=models.Q(id=1)),
            models.CheckConstraint(
                name="events_retention_days", condition=models.Q(days__gte=0, days__lte=36_500)
            ),
        )

    def __str__(self) -> str:
        return f"at least {self.days} days" if self.days else "for good"


class Identity(models.Model):
    """Which database this is: made once, with its first root."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    database = models.UUIDField()
    made_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        verbose_name = "identity of the database"
        verbose_name_plural = "identity of the database"
        constraints = (
            models.CheckConstraint(condition=models.Q(id=1), name="events_one_identity"),
        )

    def __str__(self) -> str:
        return str(self.database)


class Root(models.Model):
    """What was sealed together, signed: a batch of heads, and the log of all batches so far (`events.roots`).

    `statement` is the canonical text that `signatures` close over. `heads` holds 56 bytes for each: correlation id, count, hash;
    `certificates` 40 for each purge: number, digest. `nodes` are the hashes of the log's subtrees that this root completes.
    `owed` names, with 24 bytes each, heads that somebody held and the older root whose seal they wait for.
    """

    number = models.BigIntegerField(primary_key=True)
    epoch = models.IntegerField()
    at = models.DateTimeField()
    statement = models.TextField()
    signatures = models.TextField()
    heads = models.BinaryField()
    certificates = models.BinaryField()
    nodes = models.BinaryField()
    owed = models.BinaryField(db_default=b"")

    class Meta:
        ordering = ("-number",)
        default_permissions = ("view",)
        indexes = (
            models.Index(
                fields=["number"],
                condition=~models.Q(certificates=b""),
                name="events_roots_of_purges",
            ),
        )

    def __str__(self) -> str:
        return f"root {self.number}"


class Rollback(models.Model):
    """The database stands behind what was exported, or beside it. Until a person has accepted it, nothing resumes.

    `exported` is the statement that was found at the target; with the acceptance a new `epoch` of roots begins.
    """

    found_at = models.DateTimeField()
    reason = models.CharField(max_length=40)
    sentence = models.TextField()
    exported = models.TextField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.CharField(max_length=200, blank=True, db_default="")
    accepted_reason = models.TextField(blank=True, db_default="")
    epoch = models.IntegerField(null=True)

    class Meta:
        ordering = ("-id",)
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(accepted_at=None),
                name="events_one_open_rollback",
            ),
        )

    def __str__(self) -> str:
        return f"{self.reason} found {self.found_at:%Y-%m-%d %H:%M:%S}"
