"""API keys as the API shows them: never a secret, but for the answer that makes one."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.access.keys import MOST_DAYS
from liyagent.access.models import ApiKey
from liyagent.core.bodies import StrictSerializer, Words


class KeyInput(StrictSerializer):
    """What a new key is made of."""

    name = Words(max_length=100)
    scopes = serializers.ListField(
        child=Words(max_length=200), default=lambda: ["*"], min_length=1, max_length=100
    )
    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, allow_null=True, default=None)


SHOWN: tuple[str, ...] = (
    "prefix",
    "name",
    "scopes",
    "created_by",
    "created_at",
    "expires_at",
    "revoked_at",
    "last_used_at",
)


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key."""

    class Meta:
        model = ApiKey
        fields = SHOWN
        read_only_fields = SHOWN


class NewKeySerializer(KeySerializer):
    """A key just made; `token` is shown this once."""

    token = serializers.CharField(read_only=True)

    class Meta(KeySerializer.Meta):
        fields = (*SHOWN, "token")
        read_only_fields = fields


class KeyPage(serializers.Serializer[Any]):
    """A page of keys; `next` leads on, null on the last."""

    keys = KeySerializer(many=True)
    next = serializers.CharField(allow_null=True)
