"""Agents as the API takes them in and shows them."""

from __future__ import annotations

from rest_framework import serializers

from liyagent.agents.channels import ANY, CHANNELS
from liyagent.agents.containment import LONGEST_REASON
from liyagent.agents.fields import CHECKS, REQUIRED
from liyagent.agents.models import Agent, AgentVersion
from liyagent.core.bodies import StrictSerializer, Words


class GuardrailsShape(serializers.Serializer[dict[str, object]]):
    """The checks of each direction."""

    input = serializers.ListField(child=serializers.DictField(), required=False)
    output = serializers.ListField(child=serializers.DictField(), required=False)


class UndoShape(serializers.Serializer[dict[str, object]]):
    """The call that takes a write back. `args` may read `args` and `result` of the write: `{{ result.key }}`."""

    tool = serializers.CharField(help_text="A name, or `server/name`.")
    server = serializers.CharField(
        required=False, help_text="That of the write where nothing is said."
    )
    args = serializers.DictField(required=False)


class UndoMap(serializers.DictField):
    """By the tool that made the write, `server/name`, its undo."""

    child = UndoShape()


class CompensationsSerializer(serializers.Serializer[dict[str, object]]):
    """How an agent's own writes are undone, and since which version of it."""

    agent = serializers.CharField()
    version = serializers.IntegerField()
    compensations = UndoMap()


class CompensationsInput(serializers.Serializer[dict[str, object]]):
    """The body that sets the map, as the schema shows it; what it leaves out is not undone any more."""

    compensations = UndoMap()
    expected_version = serializers.IntegerField(
        required=False, min_value=1, help_text="409 unless the agent stands there."
    )


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """An agent as it stands now; its provider key is shown by the name of its variable only."""

    tool_patterns = serializers.ListField(child=serializers.CharField(), read_only=True)
    compensations = serializers.JSONField(read_only=True)
    guardrails = GuardrailsShape(read_only=True)
    hooks = serializers.ListField(child=serializers.CharField(), read_only=True)
    channels = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Agent
        fields = (
            *CHECKS,
            "version",
            "is_contained",
            "contained_by",
            "contained_reason",
            "updated_at",
        )
        read_only_fields = fields


class AgentPage(serializers.Serializer[dict[str, object]]):
    """Agents by key; `next` is null on the last page."""

    agents = AgentSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class AgentInput(serializers.ModelSerializer[Agent]):
    """A definition, as the schema shows it; `agents.fields` checks it. What is left out has its default."""

    key = serializers.CharField(required=False)
    tool_patterns = serializers.ListField(child=serializers.CharField(), required=False)
    compensations = UndoMap(required=False)
    guardrails = GuardrailsShape(required=False)
    hooks = serializers.ListField(child=serializers.CharField(), required=False)
    channels = serializers.ListField(
        child=serializers.ChoiceField(choices=(*CHANNELS, ANY)), required=False
    )
    expected_version = serializers.IntegerField(
        required=False, min_value=0, help_text="409 unless it stands there; 0: unless it is new."
    )

    class Meta:
        model = Agent
        fields = (*CHECKS, "expected_version")
        extra_kwargs = {name: {"required": name in REQUIRED} for name in CHECKS}


class VersionSerializer(serializers.ModelSerializer[AgentVersion]):
    """What an agent was at one version."""

    agent = serializers.CharField(source="agent.key")
    definition = serializers.DictField()

    class Meta:
        model = AgentVersion
        fields = ("agent", "number", "definition", "created_by", "created_at")
        read_only_fields = fields


class VersionPage(serializers.Serializer[dict[str, object]]):
    """Versions, newest first; `next` is null on the last page."""

    versions = VersionSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ContainInput(StrictSerializer):
    """The body of a containment."""

    reason = Words(max_length=LONGEST_REASON)
