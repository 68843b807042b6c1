"""Addresses of triggers, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.webhooks.triggers_api import (
    WebhookTriggerArrivalList,
    WebhookTriggerDisable,
    WebhookTriggerEnable,
    WebhookTriggerList,
    WebhookTriggerOne,
    WebhookTriggerTry,
)

TRIGGER = "webhook-triggers/<str:key>"
urlpatterns = [
    path("webhook-triggers", WebhookTriggerList.as_view(), name="webhook-triggers"),
    path(TRIGGER, WebhookTriggerOne.as_view(), name="webhook-trigger"),
    path(f"{TRIGGER}/enable", WebhookTriggerEnable.as_view(), name="webhook-trigger-enable"),
    path(f"{TRIGGER}/disable", WebhookTriggerDisable.as_view(), name="webhook-trigger-disable"),
    path(f"{TRIGGER}/try", WebhookTriggerTry.as_view(), name="webhook-trigger-try"),
    path(
        f"{TRIGGER}/arrivals", WebhookTriggerArrivalList.as_view(), name="webhook-trigger-arrivals"
    ),
]
