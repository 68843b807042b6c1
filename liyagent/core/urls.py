"""Addresses of health."""

from __future__ import annotations

from django.urls import path

from liyagent.core.health import live, ready

urlpatterns = [
    path("health/live", live, name="health-live"),
    path("health/ready", ready, name="health-ready"),
]
