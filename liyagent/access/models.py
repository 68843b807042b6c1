"""API keys: the secret itself is shown once and never stored."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


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

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"
