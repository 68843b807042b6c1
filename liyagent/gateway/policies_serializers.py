"""Policies, data policies and trials as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.gateway.gates.delegation import MOST_DEEP
from liyagent.gateway.models import DataAction, DataKind, DataPolicy, Policy
from liyagent.gateway.outcome import Posture
from liyagent.gateway.policies import LONGEST_TEXT
from liyagent.gateway.policy_versions import LONGEST_NOTE

POSTURES = [it.value for it in Posture]


class PolicySetSerializer(serializers.Serializer[Any]):
    """A set by its newest version; `active_version` is null unless one of its versions is in force."""

    name = serializers.CharField()
    newest_version = serializers.IntegerField(source="version")
    active_version = serializers.IntegerField(allow_null=True)


class PolicySetPage(serializers.Serializer[Any]):
    """A page of sets."""

    policies = PolicySetSerializer(many=True)
    next = serializers.CharField(allow_null=True)


VERSION_FIELDS = ("name", "version", "is_active", "created_by", "created_at", "note")


class PolicyVersionSerializer(serializers.ModelSerializer[Policy]):
    """One version: who added it, when and why, and whether it is in force."""

    class Meta:
        model = Policy
        fields = VERSION_FIELDS
        read_only_fields = fields


class PolicyTextSerializer(serializers.ModelSerializer[Policy]):
    """The same with its text."""

    class Meta:
        model = Policy
        fields = (*VERSION_FIELDS, "text")
        read_only_fields = fields


class PolicyVersionPage(serializers.Serializer[Any]):
    """A page of versions, newest first."""

    versions = PolicyVersionSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class VersionInput(StrictSerializer):
    """A new version; `activate` puts it into force."""

    text = Words(max_length=LONGEST_TEXT)
    note = Words(max_length=LONGEST_NOTE, allow_blank=True, default="")
    activate = serializers.BooleanField(default=False)


class TryInput(StrictSerializer):
    """A call to be judged; `policy` is a draft in place of the set in force."""

    agent = Words(max_length=80)
    tool = Words(max_length=300, help_text="server/tool")
    args = serializers.DictField(default=dict)
    entry = Words(max_length=80, default="api")
    mission = Words(max_length=128, allow_blank=True, default="")
    started_by = Words(max_length=150, required=False, allow_blank=True)
    delegated_by = serializers.ListField(
        child=Words(max_length=80),
        max_length=MOST_DEEP - 1,
        default=list,
        help_text="The agents that handed the work down, from the root's on.",
    )
    policy = Words(max_length=LONGEST_TEXT, required=False)


class GateSaidSerializer(serializers.Serializer[Any]):
    """What one gate says by itself."""

    gate = serializers.CharField()
    posture = serializers.ChoiceField(choices=POSTURES)
    reason = serializers.CharField(allow_blank=True)


class TrialSerializer(serializers.Serializer[Any]):
    """The verdict, each gate in order, the Cedar policies that decided, and the arguments as they would leave."""

    posture = serializers.ChoiceField(choices=POSTURES, source="verdict.posture")
    gate = serializers.CharField(source="verdict.gate", allow_blank=True)
    reason = serializers.CharField(source="verdict.reason", allow_blank=True)
    gates = GateSaidSerializer(many=True)
    policies = serializers.ListField(child=serializers.CharField())
    args = serializers.DictField(source="verdict.call.args")
    policy_fingerprint = serializers.CharField(source="verdict.policy_fingerprint")


class DataPolicySerializer(serializers.ModelSerializer[DataPolicy]):
    """A data policy as it stands."""

    enabled = serializers.BooleanField(source="is_enabled")

    class Meta:
        model = DataPolicy
        fields = (
            "name",
            "kind",
            "regex",
            "path",
            "tools",
            "action",
            "enabled",
            "created_by",
            "created_at",
        )
        read_only_fields = fields


class DataPolicyPage(serializers.Serializer[Any]):
    """A page of data policies, by name."""

    data_policies = DataPolicySerializer(many=True)
    next = serializers.CharField(allow_null=True)


class DataPolicyInput(StrictSerializer):
    """The whole of a data policy; what is left out has its default."""

    kind = serializers.ChoiceField(choices=DataKind.choices)
    regex = Words(max_length=500, allow_blank=True, required=False)
    path = Words(max_length=200, required=False)
    tools = Words(max_length=300, required=False)
    action = serializers.ChoiceField(choices=DataAction.choices, required=False)
    enabled = serializers.BooleanField(required=False)
