"""Addresses of agents, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.agents.api import AgentList, AgentOne

urlpatterns = [
    path("agents", AgentList.as_view(), name="agent-list"),
    path("agents/<slug:key>", AgentOne.as_view(), name="agent-one"),
]
