"""Addresses of routines, below /api/."""

from __future__ import annotations

from django.urls import path

from routines.api import AgentRoutines, MineRoutines, RoutineOne

urlpatterns = [
    path("agents/<slug:key>/routines", AgentRoutines.as_view(), name="agent-routines"),
    path("agents/<slug:key>/routines/mine", MineRoutines.as_view(), name="agent-routines-mine"),
    path("routines/<str:routine_id>", RoutineOne.as_view(), name="routine"),
]
