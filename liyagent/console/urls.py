"""Pages of the console that are of no single table."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from liyagent.console.events_page import show_events

urlpatterns = [path("events/", admin.site.admin_view(show_events), name="console-events")]
