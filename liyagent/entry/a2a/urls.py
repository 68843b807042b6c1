"""Addresses of agents for other agents, below /a2a/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.a2a.api import Card, Endpoint

urlpatterns = [
    path("<slug:agent>", Endpoint.as_view(), name="a2a-endpoint"),
    path("<slug:agent>/.well-known/agent-card.json", Card.as_view(), name="a2a-card"),
]
