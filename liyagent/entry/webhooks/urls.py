"""Addresses of triggers, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.webhooks.triggers_api import (
    TriggerArrivalList,
    TriggerDisable,
    TriggerEnable,
    TriggerList,
    TriggerOne,
    TriggerTry,
)

TRIGGER = "webhook-triggers/<str:key>"
urlpatterns = [
    path("webhook-triggers", TriggerList.as_view(), name="webhook-triggers"),
    path(TRIGGER, TriggerOne.as_view(), name="webhook-trigger"),
    path(f"{TRIGGER}/enable", TriggerEnable.as_view(), name="webhook-trigger-enable"),
    path(f"{TRIGGER}/disable", TriggerDisable.as_view(), name="webhook-trigger-disable"),
    path(f"{TRIGGER}/try", TriggerTry.as_view(), name="webhook-trigger-try"),
    path(f"{TRIGGER}/arrivals", TriggerArrivalList.as_view(), name="webhook-trigger-arrivals"),
]
