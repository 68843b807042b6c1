"""What the runs API takes in, and how it shows a run's head."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
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


class ResumeInput(StrictSerializer):
    """The body of a resume: a word for the agent, and whether to go on despite writes of unknown outcome."""

    word = Words(required=False, allow_blank=True)
    despite_unknown = serializers.BooleanField(required=False, default=False)


class WaitSerializer(serializers.Serializer[Any]):
    """What a run waits for: an open request (`approval`, of `call`), or a run that works on what was handed to it.

    `run` is where it stands still: the run itself, or the one below it that asked or works.
    """

    told = serializers.CharField()
    run = serializers.UUIDField()
    run_status = serializers.CharField()
    approval = serializers.UUIDField(allow_null=True)
    call = serializers.CharField(allow_null=True)
    since = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class RunSerializer(serializers.ModelSerializer[Run]):
    """The head's facts; nobody's words among them. `cost_micros`: millionths of the price file's unit.

    The context has `waits`, by run (`waits_of`): of a run that is not among them `waits_for` is null.
    """

    agent = serializers.CharField(source="agent_key")
    steps = serializers.IntegerField(source="model_steps")
    unknown_writes = serializers.IntegerField()
    waits_for = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (
            "id",
            "correlation_id",
            "parent_id",
            "continues",
            "status",
            "reason",
            "error",
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
            "waits_for",
            "input_tokens",
            "output_tokens",
            "cost_micros",
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

    @extend_schema_field(WaitSerializer(allow_null=True))
    def get_waits_for(self, run: Run) -> Any:
        """What it waits for, null where it does not wait."""
        wait = self.context["waits"].get(run.id)
        return WaitSerializer(wait).data if wait else None


class RunPageSerializer(serializers.Serializer[Any]):
    """A page of runs. `next` is null at the end of the list, and only there: a page can be short and lead on."""

    runs = RunSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class StartedSerializer(serializers.Serializer[Any]):
    """What a start answers, the same whenever it is asked again with the same key."""

    id = serializers.UUIDField()
    status = serializers.CharField()
    correlation_id = serializers.UUIDField()
    mission = serializers.CharField()
    url = serializers.CharField()


class LeaseSerializer(serializers.Serializer[Any]):
    """Who holds a running run, and until when if it is not renewed."""

    name = serializers.CharField()
    holder = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)


class CallSerializer(serializers.Serializer[Any]):
    """One call of a run, without arguments and result; `fate` is empty while it is under way, `held` while it waits.

    `decision`: what a person said of it (`waits for approval <id>`, `refused by <who>: <why>`), or which gate refused it.
    `id`, of a marked write alone: as `/api/calls/{id}` takes it.
    """

    step = serializers.IntegerField()
    index = serializers.IntegerField()
    server = serializers.CharField()
    tool = serializers.CharField()
    effect = serializers.CharField()
    step_key = serializers.CharField(allow_blank=True)
    fate = serializers.CharField(allow_blank=True)
    settlement = serializers.CharField(allow_blank=True)
    decision = serializers.CharField(allow_blank=True)
    approval_id = serializers.UUIDField(required=False, allow_null=True)
    id = serializers.IntegerField(required=False)
    marked_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    intent = serializers.CharField(required=False)
    attempt = serializers.IntegerField(required=False)
    late_finding = serializers.CharField(required=False, allow_blank=True)


class ChildSerializer(serializers.Serializer[Any]):
    """A run that this one handed work to; `loop` is the `step_key` of the call that did."""

    id = serializers.UUIDField()
    agent = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    loop = serializers.CharField()
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class SagaBesideSerializer(serializers.Serializer[Any]):
    """What a run and its family did that can be undone: where that stands, how many undos, and where all of it is told."""

    run_id = serializers.UUIDField()
    status = serializers.CharField()
    undos = serializers.IntegerField()
    url = serializers.CharField()


class RunToldSerializer(RunSerializer):
    """A run's head, its lease, calls, children and takeovers; `answer` for those who may read words."""

    lease = LeaseSerializer(allow_null=True)
    calls = CallSerializer(many=True)
    calls_truncated = serializers.BooleanField()
    children = ChildSerializer(many=True)
    children_truncated = serializers.BooleanField()
    continued_by = serializers.ListField(child=serializers.UUIDField())
    takeovers = serializers.ListField(child=serializers.DictField())
    saga = SagaBesideSerializer(allow_null=True)
    url = serializers.CharField()
    answer = serializers.CharField(required=False, allow_null=True)
    answer_missing = serializers.CharField(required=False)

    class Meta(RunSerializer.Meta):
        fields = (  # type: ignore[assignment]  # it has more than the head's
            *RunSerializer.Meta.fields,
            "lease",
            "calls",
            "calls_truncated",
            "children",
            "children_truncated",
            "continued_by",
            "takeovers",
            "saga",
            "url",
            "answer",
            "answer_missing",
        )


class TranscriptSerializer(serializers.Serializer[Any]):
    """The words that are kept of a run."""

    run_id = serializers.UUIDField()
    status = serializers.CharField()
    messages = serializers.ListField(child=serializers.DictField())
    answer = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    is_complete = serializers.BooleanField()
