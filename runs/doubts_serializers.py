"""What the API takes in about writes in doubt, and how it shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from runs.serializers import LONGEST_REASON

# Where a call stands, as it is shown.
SHOWN_STATES = ("unknown", "open", "waits", "found", "settled")


class ReasonInput(StrictSerializer):
    """Why a person says so: one line, kept in the audit log."""

    reason = Words(max_length=LONGEST_REASON)


class HappenedInput(ReasonInput):
    """That it happened; `result` is what it returned, left out where that is not known."""

    result = serializers.JSONField(required=False, allow_null=True, default=None)


class DoubtSerializer(serializers.Serializer[Any]):
    """A marked call before an operator. `known` and `to_do` are for people; nobody's words are among it."""

    id = serializers.IntegerField(source="call.id")
    state = serializers.ChoiceField(choices=SHOWN_STATES)
    known = serializers.CharField()
    to_do = serializers.CharField(allow_blank=True)
    server = serializers.CharField(source="call.server")
    tool = serializers.CharField(source="call.tool")
    run_id = serializers.UUIDField(source="call.run_id")
    correlation_id = serializers.UUIDField(source="call.correlation_id")
    run_status = serializers.SerializerMethodField()
    run_lives = serializers.BooleanField()
    agent = serializers.SerializerMethodField()
    mission = serializers.SerializerMethodField()
    step = serializers.IntegerField(source="call.step")
    index = serializers.IntegerField(source="call.index")
    step_key = serializers.CharField(source="call.step_key", allow_blank=True)
    intent = serializers.CharField(source="call.intent")
    approval_id = serializers.UUIDField(source="call.approval_id", allow_null=True)
    fate = serializers.CharField(source="call.fate", allow_blank=True)
    settlement = serializers.CharField(source="call.settlement", allow_blank=True)
    marked_at = serializers.DateTimeField(source="call.marked_at")
    deadline = serializers.DateTimeField(source="call.deadline")
    late_finding = serializers.CharField(source="call.late_finding", allow_blank=True)
    late_look_at = serializers.DateTimeField(source="call.late_look_at", allow_null=True)
    settled_at = serializers.DateTimeField(source="call.settled_at", allow_null=True)
    settled_by = serializers.CharField(source="call.settled_by", allow_blank=True)
    settled_reason = serializers.CharField(source="call.settled_reason", allow_blank=True)

    def get_run_status(self, doubt: Any) -> str:
        """Where its run stands, empty where that is not kept any more."""
        return doubt.run.status if doubt.run else ""

    def get_agent(self, doubt: Any) -> str:
        """Whose run it is."""
        return doubt.run.agent_key if doubt.run else ""

    def get_mission(self, doubt: Any) -> str:
        """The mission of its run."""
        return doubt.run.mission if doubt.run else ""


class DoubtPageSerializer(serializers.Serializer[Any]):
    """A page of calls in doubt, the oldest mark first. `next` is null at the end of the list, and only there."""

    calls = DoubtSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class DoubtToldSerializer(DoubtSerializer):
    """One call; `decision`: what a person said of its request, or that it waits for one. `args` for those who may read words, null and `args_missing` where they cannot be opened."""

    has_reader = serializers.BooleanField()
    decision = serializers.CharField(allow_blank=True)
    args = serializers.DictField(required=False, allow_null=True)
    args_missing = serializers.CharField(required=False)


class SaidSerializer(DoubtSerializer):
    """A call as a person settled it: requests for the same intent that were withdrawn, or still wait for a decision."""

    withdrawn = serializers.ListField(child=serializers.UUIDField())
    waiting = serializers.ListField(child=serializers.UUIDField())
