"""What the runs API takes in, and how it shows a run's head."""

from __future__ import annotations

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from runs.models import Run

LONGEST_REASON = 500


class TurnInput(StrictSerializer):
    """One earlier turn given to the run."""

    role = serializers.ChoiceField(choices=("user", "assistant"))
    text = Words(allow_blank=True)


class StartInput(StrictSerializer):
    """The body of a start."""

    task = Words()
    history = TurnInput(many=True, required=False)


class StopInput(StrictSerializer):
    """The body of a stop."""

    reason = Words(max_length=LONGEST_REASON)


class RunSerializer(serializers.ModelSerializer[Run]):
    """The head's facts in plain words; nobody's words among them."""

    agent = serializers.CharField(source="agent_key")
    steps = serializers.IntegerField(source="model_steps")
    unknown_writes = serializers.IntegerField()

    class Meta:
        model = Run
        fields = (
            "id",
            "correlation_id",
            "parent_id",
            "status",
            "reason",
            "agent",
            "agent_version",
            "entry",
            "mission",
            "request_id",
            "started_by",
            "recording",
            "steps",
            "calls_made",
            "unknown_writes",
            "input_tokens",
            "output_tokens",
            "losses",
            "last_loss",
            "handovers",
            "attempt",
            "stop_requested",
            "stopped_by",
            "created_at",
            "taken_at",
            "not_before",
            "ended_at",
        )
        read_only_fields = fields
