"""Where each address leads."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from liyagent.access.views import UnknownAddress

urlpatterns = [
    path("", login_required(RedirectView.as_view(pattern_name="admin:index")), name="home"),
    path("admin/", include("liyagent.console.urls")),
    path("admin/", admin.site.urls),
    path("", include("liyagent.core.urls")),
    path("", include("liyagent.operation.urls")),
    path("api/", include("liyagent.access.schema_urls")),
    path("api/", include("liyagent.access.urls")),
    path("api/", include("liyagent.access.audit_urls")),
    path("api/", include("liyagent.agents.urls")),
    path("api/", include("liyagent.approvals.urls")),
    path("api/", include("liyagent.gateway.policies_urls")),
    path("api/", include("liyagent.gateway.servers_urls")),
    path("api/", include("handoffs.urls")),
    path("api/", include("liyagent.jobs.urls")),
    path("api/", include("liyagent.tickets.urls")),
    path("api/", include("liyagent.console.missions.api_urls")),
    path("api/", include("runs.urls")),
    path("api/", include("sagas.urls")),
    path("api/", include("liyagent.training.urls")),
    path("api/", include("liyagent.replays.urls")),
    path("api/", include("liyagent.workflows.urls")),
    path("api/", include("routines.urls")),
    path("api/", include("liyagent.entry.urls")),
    path("api/", include("liyagent.entry.inspector.urls")),
    path("api/", include("liyagent.entry.copilot.urls")),
    path("api/", include("liyagent.entry.cron.urls")),
    path("api/", include("liyagent.entry.playground.urls")),
    path("api/", include("liyagent.entry.teams.urls")),
    path("api/", include("liyagent.entry.webhooks.urls")),
    path("hooks/", include("liyagent.entry.webhooks.hooks_urls")),
    path("a2a/", include("liyagent.entry.a2a.urls")),
    path("", include("liyagent.entry.mcp_server.urls")),
    path("api", UnknownAddress.as_view(), {"rest": ""}),
    re_path(r"^api/(?P<rest>[\s\S]*)$", UnknownAddress.as_view(), name="unknown-address"),
]
handler400 = "liyagent.core.api.bad_request"
handler403 = "liyagent.core.api.permission_denied"
handler404 = "liyagent.core.api.not_found"
handler500 = "liyagent.core.api.server_error"
