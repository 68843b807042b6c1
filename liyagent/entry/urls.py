"""Addresses of arrivals and deliveries, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.api import (
    ArrivalList,
    ArrivalOne,
    DeliveryClose,
    DeliveryList,
    DeliveryOne,
    DeliverySendAgain,
)

DELIVERY = "deliveries/<int:delivery_id>"
urlpatterns = [
    path("arrivals", ArrivalList.as_view(), name="arrivals"),
    path("arrivals/<uuid:run_id>", ArrivalOne.as_view(), name="arrival"),
    path("deliveries", DeliveryList.as_view(), name="deliveries"),
    path(DELIVERY, DeliveryOne.as_view(), name="delivery"),
    path(f"{DELIVERY}/send-again", DeliverySendAgain.as_view(), name="delivery-send-again"),
    path(f"{DELIVERY}/close", DeliveryClose.as_view(), name="delivery-close"),
]
