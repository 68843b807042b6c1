"""Workflows, their versions, and signals that their runs wait for."""

from __future__ import annotations

from django.db import models

from liyagent.agents.models import Agent


class Workflow(models.Model):
    """A workflow as it stands now. Its runs pin the definition that they were started with.

    It belongs to an agent: its runs pass that agent's gates, run as it does, and come in by its channels. `digest` is that
    of the definition (canonical JSON).
    """

    key = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=200)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="workflows")
    version = models.PositiveIntegerField(default=1)
    definition = models.JSONField()
    digest = models.CharField(max_length=64)
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("key",)

    def __str__(self) -> str:
        return self.key


class WorkflowVersion(models.Model):
    """What a workflow was at one version: never changed."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    agent_key = models.CharField(max_length=80)
    definition = models.JSONField()
    digest = models.CharField(max_length=64)
    created_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("workflow", "-number")
        constraints = (
            models.UniqueConstraint(
                name="workflows_one_row_per_version", fields=["workflow", "number"]
            ),
        )

    def __str__(self) -> str:
        return f"{self.workflow_id} version {self.number}"


class Signal(models.Model):
    """A word from outside that a run waits for, or will. Taken by one wait (`taken_by`: its model step), oldest first."""

    run_id = models.UUIDField()
    name = models.CharField(max_length=200)
    sealed = models.BinaryField()
    key_id = models.CharField(max_length=64)
    sent_by = models.CharField(max_length=150)
    taken_by = models.IntegerField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                name="workflows_one_signal_per_wait", fields=["run_id", "taken_by"]
            ),
        )
        indexes = (models.Index(fields=["run_id", "name", "id"], name="workflows_signals"),)

    def __str__(self) -> str:
        return f"{self.name} to {self.run_id}"
