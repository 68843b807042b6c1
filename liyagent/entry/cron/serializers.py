"""Triggers and fires as the API takes and shows them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.entry.cron.fires import kind_of, slot_of
from liyagent.entry.cron.models import CronFire, CronTrigger, Overlap
from liyagent.entry.models import Arrival


class CronTriggerInput(serializers.Serializer[Any]):
    """What is declared of a trigger; `save_trigger` checks it. What is left out stays."""

    agent = serializers.CharField(required=False)
    task = serializers.CharField(required=False)
    schedule = serializers.CharField(required=False, help_text="Five fields, such as `30 2 * * *`.")
    timezone = serializers.CharField(required=False, help_text="Such as `Europe/Berlin`.")
    is_enabled = serializers.BooleanField(required=False)
    catch_up = serializers.BooleanField(required=False)
    overlap = serializers.ChoiceField(choices=Overlap.choices, required=False)
    started_by = serializers.CharField(required=False, allow_blank=True)


class CronFireSerializer(serializers.ModelSerializer[Arrival]):
    """A fire: the slot, what became of it, and the run that it is where it was started."""

    kind = serializers.SerializerMethodField()
    slot = serializers.SerializerMethodField()
    state = serializers.CharField()

    class Meta:
        model = CronFire
        fields = (
            "run_id",
            "kind",
            "slot",
            "state",
            "outcome",
            "reason",
            "received_at",
            "started_at",
            "ended_at",
        )
        read_only_fields = fields

    def get_kind(self, fire: Arrival) -> str:
        """Say what it is: slot, manual or missed."""
        return kind_of(fire)

    def get_slot(self, fire: Arrival) -> str | None:
        """Name the slot."""
        return slot_of(fire)


class CronTriggerSerializer(serializers.ModelSerializer[CronTrigger]):
    """A trigger as it stands; `last_fires` in the context tells of the last one."""

    agent = serializers.CharField(source="agent_key")
    last_fire = serializers.SerializerMethodField()

    class Meta:
        model = CronTrigger
        fields = (
            "key",
            "agent",
            "task",
            "schedule",
            "timezone",
            "is_enabled",
            "catch_up",
            "overlap",
            "started_by",
            "next_slot",
            "last_slot",
            "problem",
            "last_fire",
            "saved_by",
            "updated_at",
        )
        read_only_fields = fields

    @extend_schema_field(CronFireSerializer(allow_null=True))
    def get_last_fire(self, trigger: CronTrigger) -> dict[str, Any] | None:
        """Show the newest fire, null where there is none yet."""
        found = self.context["last_fires"].get(trigger.key)
        return dict(CronFireSerializer(found).data) if found else None


class CronTriggerPage(serializers.Serializer[Any]):
    """Triggers by key; `next` is null on the last page."""

    triggers = CronTriggerSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class CronFirePage(serializers.Serializer[Any]):
    """Fires of a trigger, newest first; `next` is null on the last page."""

    fires = CronFireSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class CronRunSerializer(serializers.Serializer[Any]):
    """The run that was asked for; `is_new` is false where the same `Idempotency-Key` had named it before."""

    id = serializers.UUIDField()
    is_new = serializers.BooleanField()
