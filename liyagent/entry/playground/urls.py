"""Addresses of the playground, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.playground.api import PlaygroundStart

urlpatterns = [
    path("agents/<slug:key>/playground", PlaygroundStart.as_view(), name="playground-start"),
]
