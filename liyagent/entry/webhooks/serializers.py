"""Triggers and what they let in, as the API takes and shows them; a secret by the name of its variable only."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from liyagent.entry.models import Arrival
from liyagent.entry.webhooks.models import Trigger


class WebhookMappingSerializer(serializers.Serializer[Any]):
    """Templates with `{{ dotted.path }}` into the payload."""

    task = serializers.CharField(trim_whitespace=False)
    mission = serializers.CharField(required=False, allow_blank=True)


class WebhookTriggerInput(serializers.Serializer[Any]):
    """What is declared of a trigger; `save_trigger` checks it. What is left out stays.

    `sample` is a payload to try it with, wanted where `mapping`, `filter` or `delivery_id` changes; it is not kept.
    """

    kind = serializers.CharField(required=False)
    agent = serializers.CharField(required=False)
    started_by = serializers.CharField(required=False, allow_blank=True)
    scheme = serializers.CharField(required=False)
    secret_envs = serializers.ListField(child=serializers.CharField(), required=False)
    signature_header = serializers.CharField(required=False)
    signature_prefix = serializers.CharField(required=False, allow_blank=True)
    mapping = WebhookMappingSerializer(required=False)
    filter = serializers.CharField(required=False, allow_blank=True)
    delivery_id = serializers.CharField(required=False, allow_blank=True)
    most_a_minute = serializers.IntegerField(required=False)
    is_enabled = serializers.BooleanField(required=False)
    sample = serializers.JSONField(required=False)


class WebhookTriggerSerializer(serializers.ModelSerializer[Trigger]):
    """A trigger as it stands, and the last payload that did not fit."""

    agent = serializers.CharField(source="agent_key")
    kind = serializers.CharField()
    scheme = serializers.CharField()
    secret_envs = serializers.ListField(child=serializers.CharField())
    mapping = WebhookMappingSerializer(source="*")

    class Meta:
        model = Trigger
        fields = (
            "key",
            "kind",
            "agent",
            "started_by",
            "scheme",
            "secret_envs",
            "signature_header",
            "signature_prefix",
            "mapping",
            "filter",
            "delivery_id",
            "most_a_minute",
            "is_enabled",
            "misfits",
            "misfit_at",
            "misfit_why",
            "saved_by",
            "updated_at",
        )
        read_only_fields = fields


class WebhookTriggerPage(serializers.Serializer[Any]):
    """Triggers by key; `next` is null on the last page."""

    triggers = WebhookTriggerSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class WebhookTryInput(serializers.Serializer[Any]):
    """A payload, and what is to be tried of a trigger instead of what stands."""

    payload = serializers.JSONField()
    mapping = WebhookMappingSerializer(required=False)
    filter = serializers.CharField(required=False, allow_blank=True)
    delivery_id = serializers.CharField(required=False, allow_blank=True)


class WebhookFittedSerializer(serializers.Serializer[Any]):
    """What the payload would start. `is_wanted`: the filter holds of it. `delivery_id` is empty where webhook-id is it."""

    is_wanted = serializers.BooleanField()
    delivery_id = serializers.CharField(allow_blank=True)
    task = serializers.CharField(allow_blank=True)
    mission = serializers.CharField(allow_blank=True)


class WebhookArrivalSerializer(serializers.ModelSerializer[Arrival]):
    """What a trigger let in: the run, and what became of it. Skipped: the filter did not want it, there is no run."""

    state = serializers.CharField()

    class Meta:
        model = Arrival
        fields = (
            "run_id",
            "delivery_id",
            "state",
            "outcome",
            "reason",
            "mission",
            "request_id",
            "received_at",
            "started_at",
            "ended_at",
        )
        read_only_fields = fields


class WebhookTriggerArrivals(serializers.Serializer[Any]):
    """Arrivals of a trigger, newest first; `next` is null on the last page."""

    arrivals = WebhookArrivalSerializer(many=True)
    next = serializers.CharField(allow_null=True)
