"""Addresses of missions, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.console.missions.api import MissionList, MissionOne

urlpatterns = [
    path("missions", MissionList.as_view(), name="mission-list"),
    path("missions/<str:mission>", MissionOne.as_view(), name="mission-one"),
]
