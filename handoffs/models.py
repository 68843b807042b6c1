"""Snapshots, the versions that name them, and who read which. The database refuses every change of a row."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Func, Q

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())


class Snapshot(models.Model):
    """What was handed over: who from, who to, what kind, and the body as the canonical text that was hashed (HO-01).

    `digest` is the SHA-256 of the canonical JSON of `{"body", "from", "kind", "to"}`; nothing of a row is believed that does
    not hash to it.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    sender = models.CharField(max_length=200)
    recipient = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    body = models.TextField()
    created_at = models.DateTimeField(db_default=NOW)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.kind} from {self.sender} to {self.recipient}"


class Version(models.Model):
    """Version `number` of a thread: which snapshot it is, and which one it stands in the place of (`parent`, "" of the first).

    `author` is who wrote it: a user, or `agent:<key>`. `run_id` is the run that wrote it, None where a person did. `tag` shows
    that who wrote it had a key of ours.
    """

    thread = models.UUIDField()
    number = models.IntegerField()
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.PROTECT, related_name="versions", db_column="digest"
    )
    parent = models.CharField(max_length=64, blank=True, default="", db_default="")
    author = models.CharField(max_length=150)
    run_id = models.UUIDField(null=True, blank=True)
    correlation_id = models.UUIDField(null=True, blank=True)
    mission = models.CharField(max_length=128)
    tag = models.BinaryField()
    at = models.DateTimeField(db_default=NOW)

    class Meta:
        ordering = ("thread", "number")
        verbose_name = "hand-off"
        default_permissions = ("view",)
        constraints = (
            # Of two that revise one head, one wins (HO-02).
            models.UniqueConstraint(fields=["thread", "number"], name="handoffs_one_version"),
            models.CheckConstraint(
                name="handoffs_first_has_no_parent",
                condition=Q(number=1, parent="") | (Q(number__gt=1) & ~Q(parent="")),
            ),
        )
        indexes = (
            models.Index(
                F("at").desc(), F("id").desc(), name="handoffs_threads", condition=Q(number=1)
            ),
            models.Index(fields=["mission", "-at", "-id"], name="handoffs_of_mission"),
            models.Index(
                fields=["correlation_id", "id"],
                name="handoffs_of_chain",
                condition=Q(correlation_id__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"version {self.number} of {self.thread}"


class Reading(models.Model):
    """That somebody read a version, by the digest that they read: a run, or a person who said so. Once each.

    `tag` shows that who said so had a key of ours.
    """

    thread = models.UUIDField()
    number = models.IntegerField()
    digest = models.CharField(max_length=64)
    reader = models.CharField(max_length=200)
    run_id = models.UUIDField(null=True, blank=True)
    tag = models.BinaryField(default=b"", db_default=b"")
    at = models.DateTimeField(db_default=NOW)

    class Meta:
        ordering = ("thread", "id")
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(
                fields=["thread", "number", "digest", "reader", "run_id"],
                name="handoffs_read_once",
                nulls_distinct=False,
            ),
        )

    def __str__(self) -> str:
        return f"version {self.number} of {self.thread}, read by {self.reader}"
