"""`/api/arrivals` and `/api/deliveries`: what came in by any way, what is owed for it, and dead letters."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_RUN
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import next_link
from liyagent.entry.close import close_delivery
from liyagent.entry.errors import ArrivalNotFound
from liyagent.entry.listing import (
    ARRIVAL_FILTERS,
    DELIVERY_FILTERS,
    STATES,
    page_of_arrivals,
    page_of_deliveries,
)
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.send_again import find_delivery, send_again
from liyagent.entry.serializers import (
    ArrivalPage,
    ArrivalSerializer,
    ArrivalTold,
    CloseInput,
    DeliveryPage,
    DeliverySerializer,
    SendAgainInput,
    deliveries_told,
)
from liyagent.gateway.policies_api import PAGES

MOST_DELIVERIES = 100


def _filters(names: tuple[str, ...], kind: str) -> list[OpenApiParameter]:
    named = [
        OpenApiParameter(it, str, enum=STATES[kind] if it == "state" else None) for it in names
    ]
    return [*named, *PAGES]


class ArrivalList(GuardedView):
    """`GET /api/arrivals`: newest first, without any words."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=_filters(ARRIVAL_FILTERS, "arrival"), responses=ArrivalPage)
    def get(self, request: Request) -> Response:
        """List what came in; `delivery_id` is looked for within a `way` and `source`."""
        asked = once_each(request.query_params)
        page = page_of_arrivals(asked)
        return Response(
            {
                "arrivals": ArrivalSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class ArrivalOne(GuardedView):
    """`GET /api/arrivals/{run_id}`: with what is owed for it."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(responses=ArrivalTold)
    def get(self, request: Request, run_id: UUID) -> Response:
        """Show what came in as a run; 30 days after its end it is forgotten."""
        arrival = Arrival.objects.filter(run_id=run_id).defer("sealed").first()
        if arrival is None:
            raise ArrivalNotFound(f"nothing is kept here that came in as run {run_id}")
        owed = list(Delivery.objects.filter(run_id=run_id)[:MOST_DELIVERIES])
        return Response({**ArrivalSerializer(arrival).data, "deliveries": deliveries_told(owed)})


class DeliveryList(GuardedView):
    """`GET /api/deliveries`: newest first; `state=given_up` for those that are dead or unconfirmed."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=_filters(DELIVERY_FILTERS, "delivery"), responses=DeliveryPage)
    def get(self, request: Request) -> Response:
        """List what is owed, or was."""
        asked = once_each(request.query_params)
        page = page_of_deliveries(asked)
        return Response(
            {
                "deliveries": deliveries_told(page.rows),
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class DeliveryOne(GuardedView):
    """`GET /api/deliveries/{id}`."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(responses=DeliverySerializer)
    def get(self, request: Request, delivery_id: int) -> Response:
        """Show a delivery."""
        return Response(_told(find_delivery(delivery_id)))


class DeliverySendAgain(GuardedView):
    """`POST /api/deliveries/{id}/send-again`: for one that is dead or unconfirmed."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=SendAgainInput, responses=DeliverySerializer)
    def post(self, request: Request, delivery_id: int) -> Response:
        """Have it sent again: it is due at once, for a day. An unconfirmed one wants `may_appear_twice`."""
        given = SendAgainInput(data=request.data)
        given.is_valid(raise_exception=True)
        due = send_again(
            delivery_id=delivery_id,
            actor=request.user.get_username(),
            may_appear_twice=given.validated_data["may_appear_twice"],
        )
        return Response(_told(due))


class DeliveryClose(GuardedView):
    """`POST /api/deliveries/{id}/close`: for one that is dead or unconfirmed."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=CloseInput, responses=DeliverySerializer)
    def post(self, request: Request, delivery_id: int) -> Response:
        """Close it for good, with the reason: it is not sent any more."""
        given = CloseInput(data=request.data)
        given.is_valid(raise_exception=True)
        closed = close_delivery(
            delivery_id=delivery_id,
            actor=request.user.get_username(),
            reason=given.validated_data["reason"],
        )
        return Response(_told(closed))


def _told(delivery: Delivery) -> dict[str, object]:
    return deliveries_told([delivery])[0]
