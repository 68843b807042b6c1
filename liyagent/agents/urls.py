"""Addresses of agents, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.agents.api import (
    AgentCompensations,
    AgentContain,
    AgentList,
    AgentOne,
    AgentRelease,
    AgentVersionOne,
    AgentVersions,
)

urlpatterns = [
    path("agents", AgentList.as_view(), name="agent-list"),
    path("agents/<slug:key>", AgentOne.as_view(), name="agent-one"),
    path("agents/<slug:key>/versions", AgentVersions.as_view(), name="agent-versions"),
    path(
        "agents/<slug:key>/versions/<int:number>", AgentVersionOne.as_view(), name="agent-version"
    ),
    path(
        "agents/<slug:key>/compensations",
        AgentCompensations.as_view(),
        name="agent-compensations",
    ),
    path("agents/<slug:key>/contain", AgentContain.as_view(), name="agent-contain"),
    path("agents/<slug:key>/release", AgentRelease.as_view(), name="agent-release"),
]
