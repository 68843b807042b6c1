"""Tickets as the API shows them and takes changes of them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer, Words
from liyagent.tickets.comment_ticket import LONGEST_COMMENT
from liyagent.tickets.given import LONGEST_REASON
from liyagent.tickets.models import LONGEST_QUEUE, Priority, Ticket, TicketState

LARGEST_REVISION = (1 << 31) - 2
LISTED = (
    "number", "state", "priority", "queue", "subject", "source", "mission", "correlation_id", "run_id", "agent",
    "created_by", "created_at", "changed_by", "changed_at", "closed_at", "revision", "comment_count",
)  # fmt: skip


class TicketSerializer(serializers.ModelSerializer[Ticket]):
    """A ticket as lists show it: nothing of its words. `source` is what it was filed for, such as `saga:<run id>`.

    `revision` rises with each change of state, priority or queue; `changed_at` moves with each comment too.
    """

    number = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # a field of ours, no option of a nested one
    agent = serializers.CharField(source="agent_key")
    comment_count = serializers.IntegerField(source="comments")

    class Meta:
        model = Ticket
        fields = LISTED
        read_only_fields = LISTED


class TicketPageSerializer(serializers.Serializer[Any]):
    """A page of tickets. `next` is null at the end of the list, and only there: a page can be short and lead on."""

    tickets = TicketSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class TicketCommentSerializer(serializers.Serializer[Any]):
    """What a person wrote; `place` counts from 1. `text` is null where `words_missing` says why."""

    place = serializers.IntegerField(source="comment.place")
    by = serializers.CharField(source="comment.by")
    created_at = serializers.DateTimeField(source="comment.created_at")
    text = serializers.CharField(allow_null=True)
    words_missing = serializers.CharField(allow_blank=True)


class TicketCommentsSerializer(serializers.Serializer[Any]):
    """Some comments in the order in which they were written; `before` leads to those before them, null for none."""

    comments = TicketCommentSerializer(many=True)
    before = serializers.CharField(allow_null=True)


@extend_schema_field({"nullable": True, "oneOf": [{"type": "string"}, {"type": "object"}]})
class BodyField(serializers.JSONField):
    """A text, or sections by name."""


class TicketToldSerializer(serializers.Serializer[Any]):
    """A ticket with its words. `body` is null where `words_missing` says why; `comments` are the newest 50."""

    ticket = TicketSerializer()
    body = BodyField(allow_null=True)
    words_missing = serializers.CharField(allow_blank=True)
    comments = TicketCommentSerializer(many=True)
    before = serializers.CharField(
        allow_null=True, help_text="Leads to the comments before these, null for none."
    )


class TicketChangeInput(StrictSerializer):
    """A change of the ticket as it was shown at `revision`: at least one of state, priority and queue."""

    revision = serializers.IntegerField(min_value=0, max_value=LARGEST_REVISION)
    state = serializers.ChoiceField(choices=TicketState.choices, required=False)
    priority = serializers.ChoiceField(choices=Priority.choices, required=False)
    queue = Words(required=False, max_length=LONGEST_QUEUE)
    reason = Words(required=False, allow_blank=True, max_length=LONGEST_REASON)


class TicketCommentInput(StrictSerializer):
    """What is to be written on a ticket."""

    text = Words(max_length=LONGEST_COMMENT)
