"""API keys, whose secret is shown once and never stored, and the attempts that failed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class Counted(models.TextChoices):
    """What the attempts of a row have in common."""

    PAIR = "pair", "a user name from an address"
    ADDRESS = "address", "an address"
    USER = "user", "a user name"
    KEY = "key", "API keys from an address"
    KNOWN = "known", "a user who logged in from an address"


def all_of_its_user() -> list[str]:
    """The scopes of a key that narrows nothing."""
    return ["*"]


class ApiKey(models.Model):
    """A key that acts with those permissions of its user that its scopes name; `"*"` names all of them.

    `secret_hash` is the hex SHA-256 of a 256-bit secret.
    """

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, unique=True)
    secret_hash = models.CharField(max_length=64)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    scopes = models.JSONField(default=all_of_its_user)
    created_by = models.CharField(max_length=150, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = "API key"
        permissions = (("keep_own_keys", "Can make, list and revoke own API keys"),)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"


class Attempt(models.Model):
    """How often something failed in a while, in the database because every process counts; gone once it expires.

    `subject` is a SHA-256: a user name may be a password that somebody typed into the wrong field.
    """

    kind = models.CharField(max_length=10, choices=Counted.choices)
    subject = models.CharField(max_length=64)
    count = models.PositiveIntegerField(default=1)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(name="access_one_count", fields=["kind", "subject"]),
            models.CheckConstraint(
                name="access_attempt_kind", condition=models.Q(kind__in=Counted.values)
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.subject[:12]}"
