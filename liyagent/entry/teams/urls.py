"""Addresses of Teams, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.teams.api import Messages

urlpatterns = [
    path("messages", Messages.as_view(), name="teams-messages"),
]
