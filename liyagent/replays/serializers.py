"""Cohort replays as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.agents.fields import LONGEST_INSTRUCTIONS
from liyagent.core.bodies import StrictSerializer, Words
from liyagent.jobs.models import Job
from liyagent.replays.ask import MOST_BASELINE, MOST_CALLS, MOST_TOKENS
from liyagent.replays.cohort import MOST_RUNS, RUNS
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.verdict import Standing, standing_of_verdict
from liyagent.replays.words import read_words


class OverrideInput(StrictSerializer):
    """What is tried instead; what it leaves out stays as the agent has it."""

    model = Words(required=False, max_length=200)
    provider = Words(required=False, max_length=40)
    instructions = Words(required=False, allow_blank=True, max_length=LONGEST_INSTRUCTIONS)
    base_url = Words(required=False, allow_blank=True, max_length=500)
    api_key_env = Words(required=False, allow_blank=True, max_length=100)


class CohortReplayInput(StrictSerializer):
    """What is tried, on which runs, and what it may cost."""

    override = OverrideInput()
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_RUNS,
        help_text=f"So many of the most recent runs; {RUNS} where neither it nor runs are given.",
    )
    runs = serializers.ListField(
        child=Words(max_length=100), required=False, min_length=1, max_length=MOST_RUNS
    )
    strict = serializers.BooleanField(
        default=False, help_text="A call is answered by the very same recorded call, or not at all."
    )
    baseline = serializers.IntegerField(
        default=0,
        min_value=0,
        max_value=MOST_BASELINE,
        help_text="So often each run is replayed with the unchanged agent too.",
    )
    most_calls = serializers.IntegerField(
        default=0, min_value=0, max_value=MOST_CALLS, help_text="Model calls; 0 for no cap."
    )
    most_tokens = serializers.IntegerField(
        default=0, min_value=0, max_value=MOST_TOKENS, help_text="In and out; 0 for no cap."
    )
    estimate_only = serializers.BooleanField(
        default=False, help_text="Tell what it costs; nothing is kept or sent."
    )


class EstimateShape(serializers.Serializer[Any]):
    """About what it costs, from what its runs cost; `cost_micros` is null where a model has no price."""

    runs = serializers.IntegerField()
    replays = serializers.IntegerField()
    model_calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost_micros = serializers.IntegerField(allow_null=True)
    currency = serializers.CharField()


class SkippedShape(serializers.Serializer[Any]):
    """A run that is not replayed, and why."""

    run = serializers.CharField()
    reason = serializers.CharField()


class EstimateSerializer(serializers.Serializer[Any]):
    """What would be replayed, and about what it costs."""

    agent = serializers.CharField()
    agent_version = serializers.IntegerField(source="version")
    override = serializers.DictField()
    runs = serializers.ListField(child=serializers.UUIDField(), source="cohort.ids")
    skipped = SkippedShape(many=True, source="cohort.skipped")
    estimate = EstimateShape()


class CohortReplaySerializer(serializers.ModelSerializer[CohortReplay]):
    """A cohort replay. `verified`: whether its verdict is as it was written, null where it has none."""

    agent = serializers.CharField(source="agent_key")
    override = serializers.DictField()
    estimate = EstimateShape()
    summary = serializers.DictField()
    job = serializers.UUIDField(source="job_id")
    verified = serializers.SerializerMethodField()

    class Meta:
        model = CohortReplay
        fields: tuple[str, ...] = (
            "id", "agent", "agent_version", "status", "reason", "override", "strict", "baseline", "most_calls", "most_tokens",
            "estimate", "verdict", "beyond_baseline", "summary", "digest", "verified", "job", "asked_by", "mission",
            "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_verified(self, replay: CohortReplay) -> bool | None:
        """Look at the verdict itself."""
        return standing_of_verdict(replay, with_results=False).is_verified


class ResultSerializer(serializers.ModelSerializer[Replayed]):
    """What came of one run in one lane, in facts: lane 0 is under the override, the others are the unchanged agent."""

    run = serializers.UUIDField(source="run_id")
    diff = serializers.DictField()

    class Meta:
        model = Replayed
        fields: tuple[str, ...] = (
            "run",
            "lane",
            "status",
            "error",
            "verdict",
            "diff",
            "created_at",
        )
        read_only_fields = fields


class ProgressShape(serializers.Serializer[Any]):
    """How far its job is: `done` of `total` replays."""

    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    words = serializers.CharField()


class CohortReplayToldSerializer(CohortReplaySerializer):
    """A cohort replay with its runs, what was skipped and why, and each result."""

    runs = serializers.ListField(child=serializers.UUIDField())
    skipped = SkippedShape(many=True)
    unverified_because = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    results = serializers.SerializerMethodField()

    class Meta(CohortReplaySerializer.Meta):
        fields = (
            *CohortReplaySerializer.Meta.fields, "runs", "skipped", "unverified_because", "progress", "results",
        )  # fmt: skip
        read_only_fields = fields

    def get_verified(self, replay: CohortReplay) -> bool | None:
        """Look at the verdict and at each result."""
        return self._standing(replay).is_verified

    def get_unverified_because(self, replay: CohortReplay) -> str:
        """Say what is wrong, empty where nothing is."""
        return self._standing(replay).why

    @extend_schema_field(ProgressShape(allow_null=True))
    def get_progress(self, replay: CohortReplay) -> Any:
        """Tell how far it is, null where its job is not kept any more."""
        job = Job.objects.filter(id=replay.job_id).first() if replay.job_id else None
        return None if job is None else ProgressShape(job).data

    @extend_schema_field(ResultSerializer(many=True))
    def get_results(self, _replay: CohortReplay) -> Any:
        """Return what is there."""
        return ResultSerializer(self.context["results"], many=True).data

    def _standing(self, replay: CohortReplay) -> Standing:
        if "standing" not in self.context:
            self.context["standing"] = standing_of_verdict(replay, with_results=True)
        found: Standing = self.context["standing"]
        return found


class AskedReplaySerializer(CohortReplayToldSerializer):
    """The cohort replay that was asked for; `is_new` is false where the very same one goes on already."""

    is_new = serializers.SerializerMethodField()

    class Meta(CohortReplayToldSerializer.Meta):
        fields = (*CohortReplayToldSerializer.Meta.fields, "is_new")
        read_only_fields = fields

    def get_is_new(self, _replay: CohortReplay) -> bool:
        """Say whether this asking made it."""
        return bool(self.context["is_new"])


class CohortReplayPage(serializers.Serializer[Any]):
    """Cohort replays, the newest first; `next` is null on the last page."""

    replays = CohortReplaySerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ResultToldSerializer(ResultSerializer):
    """One result with its words: both answers, the steps, the calls, and where arguments drifted."""

    words = serializers.SerializerMethodField()

    class Meta(ResultSerializer.Meta):
        fields = (*ResultSerializer.Meta.fields, "words")
        read_only_fields = fields

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_words(self, result: Replayed) -> Any:
        """Open them."""
        return read_words(result)
