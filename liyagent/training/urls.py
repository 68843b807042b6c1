"""Addresses of what is made of past runs, below /api/."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("liyagent.training.classifiers.urls")),
    path("", include("liyagent.training.fine_tunes.urls")),
    path("", include("liyagent.training.red_teams.urls")),
]
