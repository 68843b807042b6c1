"""The audit log and confidential concerns as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.audit.concerns import LONGEST_ACTOR, LONGEST_REFERENCE
from liyagent.audit.models import AuditRow, Concern
from liyagent.core.bodies import StrictSerializer, Words

LONGEST_MISSION = 128


class AuditRowSerializer(serializers.ModelSerializer[AuditRow]):
    """A row. A confidential one was written under a concern: it bears no mission, request id or address."""

    detail = serializers.DictField(read_only=True)

    class Meta:
        model = AuditRow
        fields = (
            "id", "at", "action", "actor", "agent", "mission", "request_id", "address", "correlation_id", "run_id",
            "is_confidential", "detail",
        )  # fmt: skip
        read_only_fields = fields


class AuditPageSerializer(serializers.Serializer[Any]):
    """A page of rows."""

    rows = AuditRowSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")


class ConcernSerializer(serializers.ModelSerializer[Concern]):
    """A concern; it is open until `closed_at`."""

    class Meta:
        model = Concern
        fields = (
            "id", "about", "subject", "reference", "opened_by", "opened_at", "closed_by", "closed_at",
        )  # fmt: skip
        read_only_fields = fields


class ConcernPageSerializer(serializers.Serializer[Any]):
    """A page of concerns."""

    concerns = ConcernSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")


class ConcernInput(StrictSerializer):
    """What a concern is about: an actor or a mission; about who opens it where neither is named."""

    actor = Words(required=False, max_length=LONGEST_ACTOR, help_text="About what somebody does.")
    mission = Words(required=False, max_length=LONGEST_MISSION, help_text="About a mission.")
    reference = Words(
        required=False,
        allow_blank=True,
        max_length=LONGEST_REFERENCE,
        help_text="Where its words are kept, such as a case number; none of them are kept here.",
    )
