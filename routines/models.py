"""Routines: one a pattern of an agent, whatever became of it."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Func, Q

from liyagent.core.shaped import Shaped
from routines import shapes

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())


class RoutineState(models.TextChoices):
    """Where a routine stands. Filed: its adoption waits for a person. Suspended: adopted, and switched off for what its runs did."""

    SUGGESTED = "suggested"
    FILED = "filed"
    ADOPTED = "adopted"
    SUSPENDED = "suspended"
    DISMISSED = "dismissed"


def no_facts() -> dict[str, Any]:
    """Nothing is known yet."""
    return {}


class Routine(Shaped):
    """A pattern and what it compiles to.

    `pattern` is the digest of agent and tools in their order, and of nothing else, so that it stays the same while its runs grow.
    `definition` is a workflow's, `digest` its SHA-256 (canonical JSON); `parameters` say what `input.<name>` is for, `origins`
    where each value comes from. `as_parameters` are the places that a person turned into parameters. `runs` are the ids that it was
    compiled from, `support` how many runs were seen of it, `distinct_inputs` how many different tasks stood behind those.
    `score` is how the compiled routine does against recorded runs; `tools_seen` the fingerprint of each tool when it was compiled.
    `baseline` is what those runs took on average, as it was adopted.
    `withheld` says why it is not offered, "" where it is.
    """

    SHAPES = {
        "tools": (shapes.is_texts, []),
        "definition": (shapes.is_definition, {}),
        "parameters": (shapes.is_parameters, []),
        "origins": (shapes.is_origins, []),
        "as_parameters": (shapes.is_made, []),
        "runs": (shapes.is_runs, []),
        "score": (shapes.is_score, {}),
        "tools_seen": (shapes.is_seen, {}),
        "baseline": (shapes.is_baseline, {}),
    }

    id = models.UUIDField(primary_key=True, editable=False)
    agent_key = models.CharField(max_length=80)
    pattern = models.CharField(max_length=64)
    tools = models.JSONField()
    definition = models.JSONField()
    digest = models.CharField(max_length=64)
    parameters = models.JSONField(default=list)
    origins = models.JSONField(default=list)
    as_parameters = models.JSONField(default=list)
    runs = models.JSONField()
    support = models.IntegerField()
    distinct_inputs = models.IntegerField(default=0)
    score = models.JSONField(default=no_facts)
    tools_seen = models.JSONField(default=no_facts)
    baseline = models.JSONField(default=no_facts)
    withheld = models.CharField(max_length=500, blank=True, default="")
    state = models.CharField(
        max_length=10, choices=RoutineState.choices, default=RoutineState.SUGGESTED
    )
    approval_id = models.UUIDField(null=True, blank=True)
    workflow_key = models.CharField(max_length=80, blank=True, default="")
    adopted_by = models.CharField(max_length=150, blank=True, default="")
    adopted_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True, default="")
    mined_at = models.DateTimeField()
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-id")
        default_permissions = ("view",)
        constraints = (
            models.UniqueConstraint(fields=["agent_key", "pattern"], name="routines_one_a_pattern"),
            models.CheckConstraint(
                name="routines_state", condition=Q(state__in=RoutineState.values)
            ),
        )
        indexes = (
            models.Index(fields=["agent_key", "-created_at", "-id"], name="routines_of_agent"),
            models.Index(
                fields=["agent_key", "state", "-created_at", "-id"],
                name="routines_of_agent_by_state",
            ),
            models.Index(fields=["state", "-created_at", "-id"], name="routines_by_state"),
            models.Index(fields=["-created_at", "-id"], name="routines_newest"),
            models.Index(
                fields=["workflow_key"], name="routines_adopted", condition=~Q(workflow_key="")
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class Mining(models.Model):
    """The mining of a day (UTC, by the database's clock): asked for once, by whichever process came first.

    `after` is the last agent that it was asked for, in their order; `is_done` once there is none behind it.
    """

    day = models.DateField(primary_key=True)
    at = models.DateTimeField(db_default=NOW)
    after = models.CharField(max_length=80, blank=True, default="", db_default="")
    is_done = models.BooleanField(default=False, db_default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"mining of {self.day}"


class Sighting(models.Model):
    """What a mining that is under way has seen of one pattern: how many runs, and the ids of the newest. Goes when it ends."""

    pk = models.CompositePrimaryKey("job_id", "pattern")
    job_id = models.UUIDField()
    pattern = models.CharField(max_length=64)
    count = models.IntegerField()
    runs = models.JSONField()

    class Meta:
        default_permissions = ()
        indexes = (models.Index(fields=["job_id", "-count", "pattern"], name="routines_most_seen"),)

    def __str__(self) -> str:
        return f"{self.count} runs of {self.pattern}"
