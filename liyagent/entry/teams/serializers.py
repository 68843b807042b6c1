"""Bots and people as the API takes and shows them; a secret by the name of its variable only."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.entry.teams.models import TeamsBot, TeamsPerson, TeamsTurn


class BotInput(serializers.Serializer[Any]):
    """What is declared of a bot; `save_bot` checks it. What is left out stays."""

    agent = serializers.CharField(required=False)
    app_id = serializers.CharField(required=False)
    tenant = serializers.CharField(required=False)
    secret_env = serializers.CharField(required=False)
    started_by = serializers.CharField(required=False, allow_blank=True)
    is_enabled = serializers.BooleanField(required=False)
    metadata_url = serializers.CharField(required=False)
    issuer = serializers.CharField(required=False)
    token_url = serializers.CharField(required=False, allow_blank=True)
    scope = serializers.CharField(required=False)


class BotSerializer(serializers.ModelSerializer[TeamsBot]):
    """A bot as it stands."""

    agent = serializers.CharField(source="agent_key")

    class Meta:
        model = TeamsBot
        fields = (
            "key",
            "agent",
            "app_id",
            "tenant",
            "secret_env",
            "started_by",
            "is_enabled",
            "metadata_url",
            "issuer",
            "token_url",
            "scope",
            "saved_by",
            "updated_at",
        )
        read_only_fields = fields


class BotPage(serializers.Serializer[Any]):
    """Bots by key; `next` is null on the last page."""

    bots = BotSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class PersonInput(StrictSerializer):
    """Which user an account is."""

    username = Words(max_length=150)


class PersonSerializer(serializers.ModelSerializer[TeamsPerson]):
    """An account and the user that it is."""

    class Meta:
        model = TeamsPerson
        fields = ("aad_object_id", "username", "saved_by", "updated_at")
        read_only_fields = fields


class PersonPage(serializers.Serializer[Any]):
    """People by account; `next` is null on the last page."""

    people = PersonSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class TurnSerializer(serializers.ModelSerializer[TeamsTurn]):
    """A turn: where it was said, the run that it is, the activity that its answer is in."""

    bot = serializers.CharField(source="bot_key")

    class Meta:
        model = TeamsTurn
        fields = ("run_id", "bot", "conversation", "activity", "person", "reply", "created_at")
        read_only_fields = fields


class TurnPage(serializers.Serializer[Any]):
    """Turns of a bot, newest first; `next` is null on the last page."""

    turns = TurnSerializer(many=True)
    next = serializers.CharField(allow_null=True)
