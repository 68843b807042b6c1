"""Addresses of routines, below /api/."""

from __future__ import annotations

from django.urls import path

from routines.api import AgentRoutines, MineRoutines, RoutineOne
from routines.decide_api import RoutineAdopt, RoutineDismiss, RoutineParameters

urlpatterns = [
    path("agents/<slug:key>/routines", AgentRoutines.as_view(), name="agent-routines"),
    path("agents/<slug:key>/routines/mine", MineRoutines.as_view(), name="agent-routines-mine"),
    path("routines/<str:routine_id>", RoutineOne.as_view(), name="routine"),
    path("routines/<str:routine_id>/adopt", RoutineAdopt.as_view(), name="routine-adopt"),
    path("routines/<str:routine_id>/dismiss", RoutineDismiss.as_view(), name="routine-dismiss"),
    path(
        "routines/<str:routine_id>/parameters",
        RoutineParameters.as_view(),
        name="routine-parameters",
    ),
]
