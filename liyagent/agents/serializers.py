"""Agents as the API shows them."""

from __future__ import annotations

from rest_framework import serializers

from liyagent.agents.models import Agent


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """An agent as it stands now; its provider key is shown by the name of its variable only."""

    class Meta:
        model = Agent
        fields = (
            "key",
            "name",
            "version",
            "provider",
            "base_url",
            "api_key_env",
            "model",
            "model_timeout_seconds",
            "instructions",
            "tool_patterns",
            "write_posture",
            "may_wait",
            "recording",
            "max_steps",
            "run_as",
            "is_enabled",
            "is_contained",
            "contained_by",
            "contained_reason",
            "updated_at",
        )
        read_only_fields = fields
