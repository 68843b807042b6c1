"""What came in and what is owed for it, as the API shows it: no words, those are the run's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from liyagent.core.bodies import StrictSerializer
from liyagent.entry.close import LONGEST_REASON
from liyagent.entry.models import Arrival, ArrivalState, Delivery, DeliveryState


class ArrivalSerializer(serializers.ModelSerializer[Arrival]):
    """What came in: its way, its source (a trigger, a bot, a caller), who started it, and the run that it is.

    `state`: received (not started yet), started, ended, refused (never started, `reason` says why), skipped (on purpose).
    `outcome` is the status with which its run ended.
    """

    agent = serializers.CharField(source="agent_key")
    state = serializers.CharField(help_text=", ".join(ArrivalState.values))

    class Meta:
        model = Arrival
        fields = (
            "run_id",
            "way",
            "source",
            "delivery_id",
            "agent",
            "started_by",
            "mission",
            "request_id",
            "state",
            "reason",
            "outcome",
            "attempts",
            "received_at",
            "next_at",
            "started_at",
            "ended_at",
        )
        read_only_fields = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """What is owed to the other end, and how it stands; `arrivals` in the context tells of its source and its agent.

    `state`: waiting (for the run's end), pending (due, or tried again at `next_at` until `give_up_at`), delivered,
    unconfirmed (sent, and nobody can tell whether it arrived), dead (given up), closed (by a person).
    `is_in_doubt`: an earlier sending may have arrived.
    """

    source = serializers.SerializerMethodField()  # type: ignore[assignment]  # a column, and not the option of a field
    agent = serializers.SerializerMethodField()
    state = serializers.CharField(help_text=", ".join(DeliveryState.values))
    address = serializers.SerializerMethodField(help_text="Where it goes, by what its way knows.")
    is_in_doubt = serializers.SerializerMethodField()

    class Meta:
        model = Delivery
        fields = (
            "id",
            "run_id",
            "way",
            "source",
            "agent",
            "kind",
            "number",
            "address",
            "state",
            "attempts",
            "last_error",
            "is_in_doubt",
            "vendor_id",
            "created_at",
            "next_at",
            "give_up_at",
            "settled_at",
            "closed_by",
            "closed_why",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_source(self, delivery: Delivery) -> str | None:
        """Name the trigger, the bot or the caller; null where what came in is no longer kept."""
        arrival = self.context["arrivals"].get(delivery.run_id)
        return arrival.source if arrival else None

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_agent(self, delivery: Delivery) -> str | None:
        """Name the agent; null where what came in is no longer kept."""
        arrival = self.context["arrivals"].get(delivery.run_id)
        return arrival.agent_key if arrival else None

    @extend_schema_field(serializers.DictField())
    def get_address(self, delivery: Delivery) -> dict[str, Any]:
        """Tell where it goes; of a row that names nothing, nothing."""
        return delivery.address if isinstance(delivery.address, dict) else {}

    def get_is_in_doubt(self, delivery: Delivery) -> bool:
        """Whether an earlier sending may have arrived."""
        return delivery.marked_at is not None


class ArrivalPage(serializers.Serializer[Any]):
    """Arrivals, newest first; a page may be short and lead on, `next` is null on the last alone."""

    arrivals = ArrivalSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ArrivalTold(ArrivalSerializer):
    """An arrival, and the first 100 of what is owed for it."""

    deliveries = DeliverySerializer(many=True)

    class Meta(ArrivalSerializer.Meta):
        fields = (*ArrivalSerializer.Meta.fields, "deliveries")  # type: ignore[assignment]


class DeliveryPage(serializers.Serializer[Any]):
    """Deliveries, newest first; a page may be short and lead on, `next` is null on the last alone."""

    deliveries = DeliverySerializer(many=True)
    next = serializers.CharField(allow_null=True)


class SendAgainInput(StrictSerializer):
    """An unconfirmed delivery is sent again only where `may_appear_twice` is true."""

    may_appear_twice = serializers.BooleanField(default=False)


class CloseInput(StrictSerializer):
    """Why it is not to be sent any more."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


def deliveries_told(deliveries: Sequence[Delivery]) -> list[dict[str, Any]]:
    """Return deliveries as they are shown; what came in for them is looked up at once."""
    arrivals = arrivals_of(deliveries)
    shown = DeliverySerializer(deliveries, many=True, context={"arrivals": arrivals})
    return [dict(it) for it in shown.data]


def arrivals_of(deliveries: Sequence[Delivery]) -> dict[Any, Arrival]:
    """Return what came in for these deliveries, by run."""
    rows = Arrival.objects.filter(run_id__in={it.run_id for it in deliveries})
    return {it.run_id: it for it in rows.defer("sealed")}
