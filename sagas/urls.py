"""Addresses of sagas, below /api/; what is done to one stands with runs."""

from __future__ import annotations

from django.urls import path

from sagas.api import AgentSagas

urlpatterns = [path("agents/<slug:key>/sagas", AgentSagas.as_view(), name="agent-sagas")]
