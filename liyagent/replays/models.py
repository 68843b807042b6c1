"""Cohort replays and what came of each run."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Func, Q

from liyagent.core.shaped import Shaped
from liyagent.replays import shapes

NOW = Func(function="liyagent_now", output_field=models.DateTimeField())


class ReplayStatus(models.TextChoices):
    """Where a cohort replay stands. Failed: it could not be carried out, `reason` says why."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Verdict(models.TextChoices):
    """What a replay came to, of a run and of a cohort (RP-05)."""

    SAME = "same"
    CHANGED = "changed"
    REGRESSED = "regressed"


def no_facts() -> dict[str, Any]:
    """Nothing is known yet."""
    return {}


class CohortReplay(Shaped):
    """Runs of one agent, replayed under an override (RP-01, RP-06).

    `override` are the fields of the agent that are another (`model`, `provider`, `instructions`, and where to ask: `base_url`,
    `api_key_env`); `agent_version` is what they are laid over. `runs` are the ids of the cohort, `skipped` is what was left out:
    `[{"run", "reason"}]`. `strict`: a call is answered by the very same recorded call, or not at all. `baseline`: so often the
    unchanged agent is replayed beside it. `most_calls` and `most_tokens` bound what is asked of models, 0 for no bound;
    `estimate` is what was expected of it. `verdict` is "" until it is done, and where there was nothing to replay;
    `beyond_baseline` is what is more than the unchanged agent's own noise, "" without a baseline. `digest` covers agent, version,
    override, cohort and results; it is `sealed` as well, so that who wrote it had a key of ours.
    """

    SHAPES = {
        "override": (shapes.is_override, {}),
        "runs": (shapes.is_runs, []),
        "skipped": (shapes.is_skipped, []),
        "estimate": (shapes.is_estimate, {**shapes.ESTIMATE, "cost_micros": None}),
        "summary": (shapes.is_summary, {}),
    }

    id = models.UUIDField(primary_key=True, editable=False)
    agent_key = models.CharField(max_length=80)
    agent_version = models.PositiveIntegerField()
    override = models.JSONField()
    strict = models.BooleanField(default=False)
    baseline = models.PositiveSmallIntegerField(default=0)
    most_calls = models.PositiveIntegerField(default=0)
    most_tokens = models.PositiveBigIntegerField(default=0)
    runs = models.JSONField(default=list)
    skipped = models.JSONField(default=list)
    estimate = models.JSONField(default=no_facts)
    status = models.CharField(
        max_length=10, choices=ReplayStatus.choices, default=ReplayStatus.QUEUED
    )
    reason = models.CharField(max_length=500, blank=True, default="")
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True, default="")
    beyond_baseline = models.CharField(
        max_length=10, choices=Verdict.choices, blank=True, default=""
    )
    summary = models.JSONField(default=no_facts)
    digest = models.CharField(max_length=64, blank=True, default="")
    key_id = models.CharField(max_length=64, blank=True, default="")
    sealed = models.BinaryField(null=True)
    job_id = models.UUIDField(null=True, blank=True)
    asked_by = models.CharField(max_length=150)
    mission = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        default_permissions = ("view",)
        constraints = (
            models.CheckConstraint(
                name="replays_status", condition=Q(status__in=ReplayStatus.values)
            ),
            models.CheckConstraint(
                name="replays_verdict",
                condition=Q(verdict__in=["", *Verdict.values])
                & Q(beyond_baseline__in=["", *Verdict.values]),
            ),
        )
        indexes = (
            models.Index(fields=["-created_at", "-id"], name="replays_newest"),
            models.Index(fields=["agent_key", "-created_at", "-id"], name="replays_of_agent"),
            models.Index(
                fields=["agent_key", "agent_version", "-created_at", "-id"],
                name="replays_done",
                condition=Q(status="done"),
            ),
            models.Index(fields=["mission", "-created_at", "-id"], name="replays_of_mission"),
            models.Index(
                fields=["created_at"], name="replays_live", condition=Q(ended_at__isnull=True)
            ),
            models.Index(
                fields=["ended_at"], name="replays_ended", condition=Q(ended_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class Replayed(Shaped):
    """What came of one run of a cohort: in lane 0 under the override, in lanes 1 to `baseline` with the agent unchanged.

    `number` is its place among all lanes of all runs. `diff` holds facts alone (numbers, names of tools, statuses); both answers, the
    steps and the drift of arguments are `sealed`.
    """

    SHAPES = {"diff": (shapes.is_diff, shapes.NO_DIFF)}

    cohort = models.ForeignKey(CohortReplay, on_delete=models.CASCADE, related_name="results")
    run_id = models.UUIDField()
    lane = models.PositiveSmallIntegerField()
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=12)
    error = models.CharField(max_length=40, blank=True, default="")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    diff = models.JSONField()
    key_id = models.CharField(max_length=64)
    sealed = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("cohort", "number")
        default_permissions = ("view",)
        constraints = (
            # However often a process was lost with it, a run is replayed once.
            models.UniqueConstraint(fields=["cohort", "run_id", "lane"], name="replays_once"),
            models.CheckConstraint(
                name="replays_run_verdict", condition=Q(verdict__in=Verdict.values)
            ),
        )

    def __str__(self) -> str:
        return f"{self.run_id} in {self.cohort_id}"
