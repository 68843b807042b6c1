"""Workflows as the API takes them in and shows them."""

from __future__ import annotations

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.workflows.models import Workflow, WorkflowVersion


class WorkflowRow(serializers.ModelSerializer[Workflow]):
    """A workflow as a list shows it."""

    agent = serializers.CharField(source="agent.key")

    class Meta:
        model = Workflow
        fields: tuple[str, ...] = (
            "key",
            "name",
            "agent",
            "version",
            "digest",
            "is_enabled",
            "created_at",
            "updated_at",
        )
        read_only_fields = fields


class WorkflowSerializer(WorkflowRow):
    """A workflow as it stands now."""

    definition = serializers.DictField()

    class Meta(WorkflowRow.Meta):
        fields = (*WorkflowRow.Meta.fields, "definition")
        read_only_fields = fields


class WorkflowPage(serializers.Serializer[dict[str, object]]):
    """Workflows by key; `next` is null on the last page."""

    workflows = WorkflowRow(many=True)
    next = serializers.CharField(allow_null=True)


class WorkflowInput(serializers.Serializer[dict[str, object]]):
    """A workflow, as the schema shows it; `workflows.fields` and `workflows.check` look at it."""

    key = serializers.CharField(required=False, help_text="That of the address, where it has one.")
    name = serializers.CharField(max_length=200)
    agent = serializers.CharField(max_length=80, help_text="The key of the agent it belongs to.")
    definition = serializers.DictField(help_text="By GET /api/workflows/schema.")
    is_enabled = serializers.BooleanField(default=True)
    expected_version = serializers.IntegerField(
        required=False, min_value=0, help_text="409 unless it stands there; 0: unless it is new."
    )


class WorkflowVersionRow(serializers.ModelSerializer[WorkflowVersion]):
    """A version as a list shows it."""

    workflow = serializers.CharField(source="workflow.key")
    agent = serializers.CharField(source="agent_key")

    class Meta:
        model = WorkflowVersion
        fields: tuple[str, ...] = (
            "workflow",
            "number",
            "agent",
            "digest",
            "created_by",
            "created_at",
        )
        read_only_fields = fields


class WorkflowVersionSerializer(WorkflowVersionRow):
    """What a workflow was at one version."""

    definition = serializers.DictField()

    class Meta(WorkflowVersionRow.Meta):
        fields = (*WorkflowVersionRow.Meta.fields, "definition")
        read_only_fields = fields


class WorkflowVersionPage(serializers.Serializer[dict[str, object]]):
    """Versions, newest first; `next` is null on the last page."""

    versions = WorkflowVersionRow(many=True)
    next = serializers.CharField(allow_null=True)


class ValidateInput(StrictSerializer):
    """What is to be looked at; with an agent, also whether it may use what the definition names."""

    definition = serializers.JSONField(allow_null=True)
    agent = Words(max_length=80, required=False)


class ProblemTold(serializers.Serializer[dict[str, object]]):
    """One thing that is wrong."""

    path = serializers.CharField(help_text="The JSON path in the definition, or `agent`.")
    detail = serializers.CharField(help_text="What was found there, and what was meant.")


class Validated(serializers.Serializer[dict[str, object]]):
    """Whether a definition could be saved; 200 problems are told at most."""

    valid = serializers.BooleanField()
    problems = ProblemTold(many=True)
