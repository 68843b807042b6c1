"""What the API shows of what was recorded of runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from runs.serializers import LeaseSerializer


class EventSerializer(serializers.Serializer[Any]):
    """One event. `content` by its kind (`docs/run-events.md`); without the right to words, `withheld` names what it leaves out."""

    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    run_id = serializers.UUIDField()
    kind = serializers.CharField()
    mission = serializers.CharField(allow_blank=True)
    recording = serializers.CharField()
    content = serializers.DictField()
    hash = serializers.CharField()


class BrokenSerializer(serializers.Serializer[Any]):
    """The first event at which the chain is not what was written: the number that was expected there, and why it is not."""

    number = serializers.IntegerField()
    reason = serializers.CharField()
    sentence = serializers.CharField()


class LackSerializer(serializers.Serializer[Any]):
    """Something that should have been written and is not there. `number`: the event that tells so, null where none does."""

    run_id = serializers.UUIDField()
    reason = serializers.CharField()
    sentence = serializers.CharField()
    number = serializers.IntegerField(allow_null=True)


class DifferenceSerializer(serializers.Serializer[Any]):
    """Something that events and checkpoint say otherwise."""

    what = serializers.CharField()
    events = serializers.CharField(allow_blank=True)
    checkpoint = serializers.CharField(allow_blank=True)


class OpenMarkSerializer(serializers.Serializer[Any]):
    """A write that was marked and is not settled."""

    step = serializers.IntegerField()
    index = serializers.IntegerField()
    server = serializers.CharField()
    tool = serializers.CharField()
    intent = serializers.CharField()
    step_key = serializers.CharField()
    approval_id = serializers.UUIDField(allow_null=True)
    marked_at = serializers.DateTimeField()


class CheckpointSerializer(serializers.Serializer[Any]):
    """What the row of the run says. `open_marks`: at most 100."""

    run_id = serializers.UUIDField()
    status = serializers.CharField()
    error = serializers.CharField(allow_blank=True)
    attempt = serializers.IntegerField()
    sequence = serializers.IntegerField()
    steps = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost_micros = serializers.IntegerField()
    losses = serializers.IntegerField()
    resumes_recorded = serializers.IntegerField()
    events_missing = serializers.IntegerField()
    open_marks = OpenMarkSerializer(many=True)
    lease = LeaseSerializer(allow_null=True)


class StateSerializer(serializers.Serializer[Any]):
    """What the events come to, run by run. `missing`: events that were never written; `left_out`: events of runs beyond the bound."""

    runs = serializers.ListField(child=serializers.DictField())
    missing = serializers.IntegerField()
    left_out = serializers.IntegerField()


class EvidenceSerializer(serializers.Serializer[Any]):
    """A page of a run's events; on the first, what all of the chain come to. Where that is null, `not_judged` says why."""

    run_id = serializers.UUIDField()
    correlation_id = serializers.UUIDField()
    mission = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()
    intact = serializers.BooleanField(allow_null=True)
    broken = BrokenSerializer(allow_null=True)
    complete = serializers.BooleanField(allow_null=True)
    lacks = LackSerializer(many=True, allow_null=True)
    open = serializers.BooleanField(allow_null=True)
    state = StateSerializer(allow_null=True)
    checkpoint = CheckpointSerializer()
    agrees = serializers.BooleanField(allow_null=True)
    differs = DifferenceSerializer(many=True, allow_null=True)
    not_judged = serializers.CharField(allow_blank=True)
    events = EventSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class LoggedRunSerializer(serializers.Serializer[Any]):
    """A run as the log has it. `count` and `last_at` are of its chain, which is its root's."""

    run_id = serializers.UUIDField()
    correlation_id = serializers.UUIDField()
    mission = serializers.CharField(allow_blank=True)
    status = serializers.CharField()
    is_ended = serializers.BooleanField()
    is_recorded = serializers.BooleanField()
    count = serializers.IntegerField()
    events_missing = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)


class LoggedRunsSerializer(serializers.Serializer[Any]):
    """A page of an agent's runs."""

    runs = LoggedRunSerializer(many=True)
    next = serializers.CharField(allow_null=True)
