"""Pages of the console that are of no single table."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from liyagent.console.events_page import show_events
from liyagent.console.missions.page import show_mission
from liyagent.entry.playground.page import show_now, show_playground, watch_run

urlpatterns = [
    path("events/", admin.site.admin_view(show_events), name="console-events"),
    path("mission/<str:mission>/", admin.site.admin_view(show_mission), name="console-mission"),
    path("playground/", admin.site.admin_view(show_playground), name="console-playground"),
    path("playground/<uuid:run_id>/", admin.site.admin_view(watch_run), name="console-watch"),
    path("playground/<uuid:run_id>/now/", admin.site.admin_view(show_now), name="console-now"),
]
