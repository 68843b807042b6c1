"""Addresses of the inspector, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.inspector.api import ToolCall

urlpatterns = [
    path("tools/<slug:server>/<path:tool>/call", ToolCall.as_view(), name="tool-call"),
]
