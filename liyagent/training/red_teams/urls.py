"""Addresses of red teams, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.training.red_teams.api import RedTeamOne, RedTeams

urlpatterns = [
    path("red-teams", RedTeams.as_view(), name="red-teams"),
    path("red-teams/<str:job_id>", RedTeamOne.as_view(), name="red-team"),
]
