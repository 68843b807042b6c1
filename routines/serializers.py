"""Routines as the API shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from routines.models import Routine, RoutineState

# What holds values that runs passed: words, for those alone who may read them.
WORDS = ("definition",)


@extend_schema_field({"nullable": True, "type": "object", "additionalProperties": True})
class DefinitionField(serializers.JSONField):
    """A workflow's definition."""


@extend_schema_field({"type": "object", "additionalProperties": True})
class ObjectField(serializers.JSONField):
    """An object."""


@extend_schema_field({"type": "array", "items": {"type": "object", "additionalProperties": True}})  # fmt: skip
class ObjectsField(serializers.JSONField):
    """A list of objects."""


@extend_schema_field({"type": "array", "items": {"type": "string"}})
class TextsField(serializers.JSONField):
    """A list of texts."""


class RoutineSerializer(serializers.ModelSerializer[Routine]):
    """A pattern of an agent's runs and what it compiles to (RT-04).

    `digest` is the SHA-256 of `definition` (canonical JSON). `runs` are the ids that it was compiled from, the newest; `support`
    is how many runs were seen, `distinct_inputs` how many different tasks stood behind those. `changed_tools` are tools that
    are not what they were then: a routine with any is stale, and not adopted. Why one is not offered at all is `not_offered`.
    `definition` holds values of runs: null, and named by `withheld`, for who may not read words. Nothing else does.
    """

    agent = serializers.CharField(source="agent_key")
    state = serializers.ChoiceField(choices=RoutineState.choices)
    tools = TextsField()
    runs = TextsField()
    definition = DefinitionField()
    parameters = ObjectsField()
    origins = ObjectsField()
    as_parameters = ObjectsField()
    score = ObjectField()
    not_offered = serializers.CharField(source="withheld", allow_blank=True)
    is_stale = serializers.SerializerMethodField()
    changed_tools = serializers.SerializerMethodField()
    withheld = serializers.SerializerMethodField()

    class Meta:
        model = Routine
        fields: tuple[str, ...] = (
            "id", "agent", "pattern", "state", "tools", "support", "distinct_inputs", "digest", "definition", "parameters", "origins",
            "as_parameters", "runs", "score", "not_offered", "is_stale", "changed_tools", "withheld", "approval_id", "workflow_key",
            "adopted_by", "adopted_at", "reason", "mined_at", "created_at", "changed_at",
        )  # fmt: skip
        read_only_fields = fields

    def to_representation(self, instance: Routine) -> dict[str, Any]:
        """Leave out what is words, for who may not read them."""
        told: dict[str, Any] = super().to_representation(instance)
        return told if self.context["may_read"] else told | dict.fromkeys(WORDS)

    def get_is_stale(self, routine: Routine) -> bool:
        """Say whether a tool is another now."""
        return bool(self._changed(routine))

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_changed_tools(self, routine: Routine) -> list[str]:
        """Name them."""
        return self._changed(routine)

    @extend_schema_field({"type": "array", "items": {"type": "string"}})
    def get_withheld(self, _routine: Routine) -> list[str]:
        """Name what is not shown to who asks."""
        return [] if self.context["may_read"] else list(WORDS)

    def _changed(self, routine: Routine) -> list[str]:
        changed: list[str] = self.context["changed"][routine.id]
        return changed


class StandingSerializer(serializers.Serializer[Any]):
    """How an adopted routine does since it was adopted, by its newest thousand runs (`is_cut` where it had more).

    `fell_back` are runs in which the agent was asked; `fallback_rate` is their share of those that ended. `seconds` and `tokens` are
    what a run that answered took on average, those `saved` what all of them took less than as many of the runs it was compiled from.
    """

    runs = serializers.IntegerField()
    ended = serializers.IntegerField()
    answered = serializers.IntegerField()
    fell_back = serializers.IntegerField()
    fallback_rate = serializers.FloatField(allow_null=True)
    by_status = serializers.DictField(child=serializers.IntegerField())
    seconds = serializers.FloatField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True)
    seconds_saved = serializers.FloatField(allow_null=True)
    tokens_saved = serializers.IntegerField(allow_null=True)
    is_cut = serializers.BooleanField()


class RoutineTold(RoutineSerializer):
    """A routine by itself: also how it does, null before it is adopted."""

    standing = StandingSerializer(allow_null=True)

    class Meta(RoutineSerializer.Meta):
        fields = (*RoutineSerializer.Meta.fields, "standing")
        read_only_fields = fields


class RoutinePage(serializers.Serializer[Any]):
    """Routines, the newest first; `next` is null on the last page."""

    routines = RoutineSerializer(many=True)
    next = serializers.CharField(allow_null=True)
