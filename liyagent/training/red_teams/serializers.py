"""Red teams as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.jobs.serializers import JobSerializer
from liyagent.training.red_teams.ask import CALLS, MOST_CALLS, MOST_TOKENS, TOKENS
from liyagent.training.red_teams.models import Finding
from liyagent.training.red_teams.prompts import kinds
from liyagent.training.red_teams.report import evidence_of, task_of


class RedTeamInput(StrictSerializer):
    """Which agent, with which prompts, and what it may cost."""

    agent = Words(max_length=80)
    kinds = serializers.ListField(
        child=Words(max_length=40),
        default=list,
        max_length=50,
        help_text=f"Of {', '.join(kinds())}; by default all.",
    )
    most_calls = serializers.IntegerField(min_value=1, max_value=MOST_CALLS, default=CALLS)
    most_tokens = serializers.IntegerField(min_value=1, max_value=MOST_TOKENS, default=TOKENS)


class SpokenSerializer(serializers.Serializer[Any]):
    """One message of the evidence."""

    role = serializers.CharField()
    text = serializers.CharField()
    calls = serializers.ListField(child=serializers.DictField(), required=False)


class FindingSerializer(serializers.ModelSerializer[Finding]):
    """A prompt, the verdict and why; `evidence` is null for who may not read words."""

    task = serializers.SerializerMethodField()
    evidence = serializers.SerializerMethodField()

    class Meta:
        model = Finding
        fields = ("number", "prompt", "kind", "task", "verdict", "why", "evidence")
        read_only_fields = fields

    def get_task(self, finding: Finding) -> str:
        """Return what the agent was asked."""
        return task_of(finding)

    @extend_schema_field(SpokenSerializer(many=True, allow_null=True))
    def get_evidence(self, finding: Finding) -> Any:
        """Return what was said."""
        return evidence_of(finding) if self.context["may_read"] else None


class RedTeamReport(serializers.Serializer[Any]):
    """How far it is, and what was found so far."""

    job = JobSerializer()
    findings = FindingSerializer(many=True)
