"""Hand-offs as the API shows them and takes them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from handoffs.given import LONGEST_NAME
from liyagent.core.bodies import StrictSerializer, Words

LARGEST_NUMBER = (1 << 31) - 2
DIGEST = r"^[0-9a-f]{64}\Z"
# `from` is a word of the language, and can be no name of an attribute.
RENAMED = {"sender": "from", "recipient": "to"}


@extend_schema_field(OpenApiTypes.ANY)
class AnyJson(serializers.Field[Any, Any, Any, Any]):
    """Any JSON, as it is."""

    def to_internal_value(self, data: Any) -> Any:
        """Return it."""
        return data

    def to_representation(self, value: Any) -> Any:
        """Return it."""
        return value


class _Number(serializers.IntegerField):
    """The number of a version: a JSON number that is whole, and no text that could be read as one."""

    def to_internal_value(self, data: Any) -> int:
        """Return it."""
        if type(data) not in {int, float}:
            self.fail("invalid")
        return super().to_internal_value(data)


class _FromTo(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Call who handed over `from`, and who was handed it `to`."""
        return {RENAMED.get(name, name): it for name, it in super().get_fields().items()}


class HandoffInput(_FromTo, StrictSerializer):
    """What is handed over: `from` and `to` such as `agent:triage` or `ann`, `kind` a word, `body` any JSON but null, up to 1 MiB."""

    sender = Words(source="sender", max_length=LONGEST_NAME)
    recipient = Words(source="recipient", max_length=LONGEST_NAME)
    kind = Words(max_length=40)
    body = AnyJson()


class HandoffReviseInput(_FromTo, StrictSerializer):
    """What stands in the place of `expected_version`, which has to be the newest. What is not given stays as it is there."""

    expected_version = _Number(min_value=1, max_value=LARGEST_NUMBER)
    body = AnyJson()
    sender = Words(source="sender", required=False, max_length=LONGEST_NAME)
    recipient = Words(source="recipient", required=False, max_length=LONGEST_NAME)
    kind = Words(required=False, max_length=40)


class HandoffReadingInput(StrictSerializer):
    """Which version was read, and by which digest: as whoever read it made it of what they read."""

    version = _Number(min_value=1, max_value=LARGEST_NUMBER)
    digest = serializers.RegexField(DIGEST, trim_whitespace=False)


class HandoffReadingSerializer(serializers.Serializer[Any]):
    """Who read which version, by which digest; `run_id` is the run that did, null for a person."""

    version = serializers.IntegerField(source="number")
    digest = serializers.CharField()
    reader = serializers.CharField()
    run_id = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField()


class HandoffWrittenSerializer(serializers.Serializer[Any]):
    """A version as it was written. `parent` is the digest that it replaces, empty for the first."""

    thread = serializers.UUIDField()
    version = serializers.IntegerField(source="number")
    digest = serializers.CharField(source="snapshot_id")
    parent = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # a field of ours, no serializer above it
    author = serializers.CharField()
    run_id = serializers.UUIDField(allow_null=True)
    correlation_id = serializers.UUIDField(allow_null=True)
    mission = serializers.CharField()
    at = serializers.DateTimeField()


class _ContentSerializer(_FromTo):
    sender = serializers.CharField(source="sender", allow_null=True)
    recipient = serializers.CharField(source="recipient", allow_null=True)
    kind = serializers.CharField(allow_null=True)
    body = AnyJson(allow_null=True)
    withheld = serializers.CharField(allow_blank=True)


class HandoffVersionSerializer(_ContentSerializer, HandoffWrittenSerializer):
    """A version, verified as it was read. `problem` is why it is not, empty where it is; `body` is null where `withheld` says why."""

    verified = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)


class HandoffThreadSerializer(serializers.Serializer[Any]):
    """Every version of a thread, each verified. `problems` say why the chain does not hold, where it does not.

    `readings` are the first 500; `more_readings` says that there are others.
    """

    thread = serializers.UUIDField()
    chain_holds = serializers.BooleanField()
    problems = serializers.ListField(child=serializers.CharField())
    versions = HandoffVersionSerializer(many=True)
    readings = HandoffReadingSerializer(many=True)
    more_readings = serializers.BooleanField()


class HandoffNamingSerializer(HandoffWrittenSerializer):
    """A version that hands it over, and whether its row is as it was written."""

    verified = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)


class HandoffSnapshotSerializer(_ContentSerializer):
    """What was handed over under a digest, hashed again. `content` is the very text that was hashed: its SHA-256 is the digest.

    `versions` are the first 50 that hand it over; `more_versions` says that there are others.
    """

    digest = serializers.CharField()
    verified = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)
    content = serializers.CharField(allow_null=True)
    versions = HandoffNamingSerializer(many=True)
    more_versions = serializers.BooleanField()


class HandoffListedSerializer(_FromTo):
    """A thread: who began it with what kind for whom, and how many versions it has."""

    thread = serializers.UUIDField()
    sender = serializers.CharField(source="sender", allow_null=True)
    recipient = serializers.CharField(source="recipient", allow_null=True)
    kind = serializers.CharField(allow_null=True)
    author = serializers.CharField()
    run_id = serializers.UUIDField(allow_null=True)
    mission = serializers.CharField()
    versions = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class HandoffPageSerializer(serializers.Serializer[Any]):
    """A page of threads. `next` is null at the end of the list, and only there."""

    handoffs = HandoffListedSerializer(many=True)
    next = serializers.CharField(allow_null=True)
