"""Addresses of cron triggers, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.cron.api import CronFireList, CronTriggerList, CronTriggerOne, CronTriggerRun

TRIGGER = "cron-triggers/<str:key>"
urlpatterns = [
    path("cron-triggers", CronTriggerList.as_view(), name="cron-triggers"),
    path(TRIGGER, CronTriggerOne.as_view(), name="cron-trigger"),
    path(f"{TRIGGER}/run", CronTriggerRun.as_view(), name="cron-trigger-run"),
    path(f"{TRIGGER}/fires", CronFireList.as_view(), name="cron-fires"),
]
