"""Requests as the API takes decisions about them and shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.approvals.authority import policies_changed, policies_now
from liyagent.approvals.models import Approval
from liyagent.approvals.reason import LONGEST_REASON
from liyagent.core.bodies import StrictSerializer, Words

LONGEST_DIGEST = 64


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": LONGEST_REASON})
class ReasonField(Words):
    """Why it is decided so; the verb refuses what cannot be used, under a code of its own."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, **kwargs)


class WithdrawInput(StrictSerializer):
    """Why a request is taken back."""

    reason = ReasonField(help_text="One line; nothing in it that cannot be seen.")


class DecisionInput(StrictSerializer):
    """A decision about what was shown."""

    reason = ReasonField(help_text="One line; nothing in it that cannot be seen.")
    digest = Words(max_length=LONGEST_DIGEST, help_text="That of the request as it was shown.")


LISTED = (
    "id",
    "kind",
    "status",
    "run_id",
    "correlation_id",
    "step",
    "index",
    "run_waits",
    "mission",
    "agent",
    "entry",
    "requested_by",
    "run_as",
    "server",
    "tool",
    "gate",
    "held_reason",
    "created_at",
    "expires_at",
    "decided_at",
    "decided_by",
    "consumed_at",
    "settled_at",
    "policies_changed",
)


class ApprovalSerializer(serializers.ModelSerializer[Approval]):
    """A request as lists show it: nothing of what would be sent.

    `policies_changed`: the policies in force are others than those it was asked under, and it is not made yet. Approved, it
    becomes stale, and the call is asked for anew. `settled_at`: when it became rejected, withdrawn, expired, stale or consumed.
    """

    agent = serializers.CharField(source="agent_key")
    policies_changed = serializers.SerializerMethodField()

    class Meta:
        model = Approval
        fields: tuple[str, ...] = LISTED
        read_only_fields = fields

    def get_policies_changed(self, approval: Approval) -> bool:
        """Whether an approval would only ask anew; the policies in force are looked up once an answer."""
        now = self.context.get("policies_now") or policies_now()
        return policies_changed(approval, now=now)


class ApprovalPageSerializer(serializers.Serializer[Any]):
    """A page of requests. `next` is null at the end of the list, and only there: a page can be short and lead on."""

    approvals = ApprovalSerializer(many=True)
    next = serializers.CharField(allow_null=True)


WITH_FACTS = (
    *LISTED,
    "digest",
    "policy_fingerprint",
    "ceiling",
    "ceiling_digest",
    "replaces",
    "decision_reason",
    "settled_reason",
    "handoff_digest",
)


class ApprovalFactsSerializer(ApprovalSerializer):
    """A request with all that its decision is bound to, and how it was settled; nothing of what would be sent.

    `handoff_digest`, of kind `saga`: what was handed over with it, `GET /api/handoff-snapshots/{digest}`.
    """

    ceiling = serializers.DictField()

    class Meta(ApprovalSerializer.Meta):
        fields: tuple[str, ...] = WITH_FACTS
        read_only_fields = fields


class SameDigestSerializer(serializers.Serializer[Any]):
    """Another request of the very same call that waits."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    created_at = serializers.DateTimeField()


class UnknownCallSerializer(serializers.Serializer[Any]):
    """A write of the run or its kin of which nobody knows whether it took effect."""

    run_id = serializers.UUIDField()
    step = serializers.IntegerField()
    index = serializers.IntegerField()
    server = serializers.CharField()
    tool = serializers.CharField()
    step_key = serializers.CharField(allow_blank=True)
    marked_at = serializers.DateTimeField()
    late_finding = serializers.CharField(allow_blank=True)


class NotUndoneSerializer(serializers.Serializer[Any]):
    """A write of a failed run that was not undone: begun again, the run would make it a second time."""

    order = serializers.IntegerField()
    run_id = serializers.UUIDField()
    step = serializers.IntegerField()
    index = serializers.IntegerField()
    write = serializers.CharField()
    undo = serializers.CharField()
    fate = serializers.CharField()
    tries = serializers.IntegerField()
    note = serializers.CharField(allow_blank=True)
    approval = serializers.CharField(allow_blank=True)


class RoutineAskedSerializer(serializers.Serializer[Any]):
    """The routine that a request would have saved, as it stands now. `is_as_asked`: its definition is the one asked about still."""

    id = serializers.UUIDField()
    agent = serializers.CharField()
    state = serializers.CharField()
    digest = serializers.CharField()
    is_as_asked = serializers.BooleanField()
    changed_tools = serializers.ListField(child=serializers.CharField())


class DecidedSerializer(ApprovalFactsSerializer):
    """A request as it stands now, after a decision or the very same one sent again: `status` says where it went since."""

    replaced_by = serializers.UUIDField(
        allow_null=True, help_text="The request that was filed in place of one that went stale."
    )

    class Meta(ApprovalFactsSerializer.Meta):
        fields: tuple[str, ...] = (*WITH_FACTS, "replaced_by")
        read_only_fields = fields


class ApprovalToldSerializer(ApprovalFactsSerializer):
    """A request as somebody who decides about it has to know it. `arguments` is for those who may read words, or decide."""

    is_open = serializers.BooleanField(help_text="Whether it can be decided now.")
    age_seconds = serializers.IntegerField()
    seconds_left = serializers.IntegerField(allow_null=True, help_text="Null once it is settled.")
    replaced_by = serializers.UUIDField(allow_null=True)
    same_digest = SameDigestSerializer(many=True)
    run_status = serializers.CharField(required=False, allow_blank=True)
    not_undone = NotUndoneSerializer(many=True, required=False)
    unknown_calls = UnknownCallSerializer(many=True, required=False)
    handoff_problem = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Of kind saga: why `handoff_digest` does not verify; empty where it does.",
    )
    routine = RoutineAskedSerializer(required=False)
    arguments = serializers.DictField(required=False)

    class Meta(ApprovalFactsSerializer.Meta):
        fields = (
            *WITH_FACTS,
            "is_open",
            "age_seconds",
            "seconds_left",
            "replaced_by",
            "same_digest",
            "run_status",
            "not_undone",
            "unknown_calls",
            "handoff_problem",
            "routine",
            "arguments",
        )
        read_only_fields = fields
