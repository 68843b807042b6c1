"""Agents and their versions."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q


class Recording(models.TextChoices):
    """Whether words are kept in the event log, or only their SHA-256 (EV-06)."""

    FULL = "full"
    METADATA = "metadata"


class WritePosture(models.TextChoices):
    """What happens to an agent's writes that the gates before let through."""

    ALLOW = "allow"
    HOLD = "hold"
    REFUSE = "refuse"


def any_channel() -> list[str]:
    """The channels of an agent that says nothing of them: any way in."""
    return ["*"]


class Agent(models.Model):
    """An agent as it stands now. Runs name the version they were started with."""

    key = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    version = models.PositiveIntegerField(default=1)
    provider = models.CharField(max_length=40)
    base_url = models.CharField(max_length=500, blank=True)
    api_key_env = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200)
    model_timeout_seconds = models.FloatField(default=120.0)
    instructions = models.TextField(blank=True)
    is_streaming = models.BooleanField(default=False)
    max_answer_tokens = models.PositiveIntegerField(
        default=0, help_text="The most tokens of one answer; 0: the provider's own limit."
    )
    tool_patterns = models.JSONField(default=list, blank=True)
    write_posture = models.CharField(
        max_length=10, choices=WritePosture.choices, default=WritePosture.HOLD
    )
    may_wait = models.BooleanField(default=False)
    recording = models.CharField(
        max_length=10, choices=Recording.choices, default=Recording.METADATA
    )
    max_steps = models.PositiveIntegerField(
        default=50, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    max_calls = models.PositiveIntegerField(
        default=500, validators=[MinValueValidator(1), MaxValueValidator(100_000)]
    )
    max_tokens = models.PositiveBigIntegerField(
        default=0, help_text="Tokens in and out, of a whole run; 0: no cap."
    )
    max_seconds = models.PositiveIntegerField(
        default=0,
        help_text="Seconds from a run's start, waits included but for people's decisions; 0: no cap.",
    )
    compensations = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="How its own writes are undone, by the tool that made them.",
    )
    guardrails = models.JSONField(default=dict, blank=True)
    hooks = models.JSONField(default=list, blank=True)
    owner = models.CharField(max_length=150, blank=True)
    channels = models.JSONField(
        default=any_channel, blank=True, help_text='The ways in it may be started by; "*": any.'
    )
    run_as = models.CharField(max_length=150, blank=True)
    require_replay = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether its model, provider and instructions change only as a cohort replay tried it.",
    )
    is_enabled = models.BooleanField(default=True)
    contained_by = models.CharField(max_length=150, blank=True)
    contained_reason = models.CharField(max_length=500, blank=True)
    is_contained = models.BooleanField(default=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("key",)
        permissions = (("operate", "Can start and stop runs of agents"),)
        constraints = (
            models.CheckConstraint(
                name="agents_write_posture", condition=Q(write_posture__in=WritePosture.values)
            ),
            models.CheckConstraint(
                name="agents_recording", condition=Q(recording__in=Recording.values)
            ),
            models.CheckConstraint(
                name="agents_max_steps", condition=Q(max_steps__gte=1, max_steps__lte=1000)
            ),
            models.CheckConstraint(
                name="agents_max_calls", condition=Q(max_calls__gte=1, max_calls__lte=100_000)
            ),
        )

    def __str__(self) -> str:
        return self.key


class AgentVersion(models.Model):
    """What an agent was at one version: never changed."""

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    definition = models.JSONField()
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("agent", "-number")
        constraints = (
            models.UniqueConstraint(name="agents_one_row_per_version", fields=["agent", "number"]),
        )

    def __str__(self) -> str:
        return f"{self.agent_id} version {self.number}"


class ConfigVersion(models.Model):
    """One row whose number rises with every change of agents, servers, tools and policies.

    It also says whether everything is contained: then nothing of any agent starts, resumes or sends.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    version = models.BigIntegerField(default=1)
    is_contained = models.BooleanField(db_default=False, default=False)
    contained_by = models.CharField(max_length=150, blank=True, db_default="", default="")
    contained_reason = models.CharField(max_length=500, blank=True, db_default="", default="")

    class Meta:
        constraints = (models.CheckConstraint(name="agents_one_config_row", condition=Q(id=1)),)

    def __str__(self) -> str:
        return str(self.version)
