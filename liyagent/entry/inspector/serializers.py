"""What a call by hand takes in and answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.gateway.outcome import Fate


class ObjectField(serializers.DictField):
    """A JSON object, as it was given."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the object itself: every value in it is plain already, and none is made text."""
        if not isinstance(data, dict):
            self.fail("not_a_dict", input_type=type(data).__name__)
        return data


class CallInput(StrictSerializer):
    """The arguments, and the agent as which to call; without one, as yourself."""

    args = ObjectField()
    agent = Words(required=False, max_length=80)


class CalledSerializer(serializers.Serializer[Any]):
    """What became of the call: `done`, `failed` (certainly without effect) or `unknown` (nobody can tell)."""

    fate = serializers.ChoiceField(choices=[Fate.DONE.value, Fate.FAILED.value, Fate.UNKNOWN.value])
    result = serializers.JSONField(allow_null=True)
    error = serializers.CharField(allow_blank=True)
    key = serializers.CharField()
    duration_ms = serializers.IntegerField()
