"""What the co-pilot's API takes in, and how it shows conversations and turns."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.entry.copilot.conversations import LONGEST_TITLE
from liyagent.entry.copilot.models import Conversation


class ConversationInput(StrictSerializer):
    """The body that begins a conversation."""

    agent = serializers.SlugField(max_length=80)
    title = Words(max_length=LONGEST_TITLE, required=False, allow_blank=True)


class AskInput(StrictSerializer):
    """The body of a turn."""

    task = Words()


class ConversationSerializer(serializers.ModelSerializer[Conversation]):
    """A conversation, without what was said in it."""

    agent = serializers.CharField(source="agent_key")

    class Meta:
        model = Conversation
        fields = ("id", "agent", "owner", "title", "mission", "turns", "created_at", "changed_at")
        read_only_fields = fields


class ConversationPage(serializers.Serializer[Any]):
    """A page of conversations."""

    conversations = ConversationSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class CopilotTurnSerializer(serializers.Serializer[Any]):
    """One turn. `status` is its run's, or `received` before there is one, or `refused` where there never is.

    `task` and `answer` are for the owner and who may read words; null where they are not kept any more. `given` and
    `left_out` count the earlier turns that its run was told, and those it was not.
    """

    number = serializers.IntegerField()
    run_id = serializers.UUIDField()
    status = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    given = serializers.IntegerField()
    left_out = serializers.IntegerField()
    task = serializers.CharField(required=False, allow_null=True)
    answer = serializers.CharField(required=False, allow_null=True)
    answer_missing = serializers.CharField(required=False)
    run_url = serializers.CharField()


class ConversationTold(ConversationSerializer):
    """A conversation with a page of its turns, in their order; `next` leads to those behind."""

    turns_told = CopilotTurnSerializer(many=True)
    next = serializers.CharField(allow_null=True)

    class Meta(ConversationSerializer.Meta):
        fields = (*ConversationSerializer.Meta.fields, "turns_told", "next")  # type: ignore[assignment]  # more
