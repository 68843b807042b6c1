"""Triggers: whose calls are let in, and what they ask of which agent."""

from __future__ import annotations

from django.db import models
from django.db.models import Func, Q

from liyagent.entry.models import Arrival

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())
LONGEST_TEMPLATE, LONGEST_SHORT = 20_000, 500
DEFAULT_A_MINUTE, MOST_A_MINUTE = 60, 6_000
SIGNATURE_HEADER, SIGNATURE_PREFIX = "X-Hub-Signature-256", "sha256="


class Kind(models.TextChoices):
    """The way in that its runs came by."""

    WEBHOOK = "webhook"
    TICKET = "ticket"


class Scheme(models.TextChoices):
    """How its calls are signed: by Standard Webhooks, or by an HMAC of the body in a header."""

    STANDARD = "standard"
    HMAC = "hmac"


class Trigger(models.Model):
    """One sender's calls, the agent that they start, and as whom.

    `secret_envs` name the variables with its secrets, newest first; any of them lets a call in. `delivery_id` says what of
    the payload names a delivery; empty, `webhook-id` does. `filter` is a condition: what it does not hold of starts nothing.
    `task` and `mission` are templates. The `misfit` columns tell of the last payload that did not fit.
    """

    key = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    agent_key = models.CharField(max_length=80)
    started_by = models.CharField(max_length=150)
    scheme = models.CharField(max_length=10, choices=Scheme.choices, default=Scheme.STANDARD)
    secret_envs = models.JSONField(default=list)
    signature_header = models.CharField(max_length=80, default=SIGNATURE_HEADER)
    signature_prefix = models.CharField(max_length=20, blank=True, default=SIGNATURE_PREFIX)
    task = models.TextField()
    mission = models.CharField(max_length=LONGEST_SHORT, blank=True)
    filter = models.CharField(max_length=LONGEST_SHORT, blank=True)
    delivery_id = models.CharField(max_length=LONGEST_SHORT, blank=True)
    most_a_minute = models.IntegerField(default=DEFAULT_A_MINUTE)
    is_enabled = models.BooleanField(default=True)
    misfits = models.BigIntegerField(default=0, db_default=0, editable=False)
    misfit_at = models.DateTimeField(null=True, editable=False)
    misfit_why = models.CharField(max_length=500, db_default="", default="", editable=False)
    saved_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("key",)
        verbose_name = "webhook trigger"
        constraints = (
            models.CheckConstraint(name="webhooks_kind", condition=Q(kind__in=Kind.values)),
            models.CheckConstraint(name="webhooks_scheme", condition=Q(scheme__in=Scheme.values)),
        )

    def __str__(self) -> str:
        return self.key


class TriggerArrival(Arrival):
    """What a trigger let in, as the console lists it."""

    class Meta:
        proxy = True
        ordering = ("-run_id",)
        verbose_name = "webhook arrival"
