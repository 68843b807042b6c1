"""Addresses of servers and tools, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.gateway.servers_api import (
    ServerDisable,
    ServerEnable,
    ServerOne,
    Servers,
    ServerSync,
)
from liyagent.gateway.tools_api import ServerTools, ToolApprove, ToolOne

SERVER = "servers/<str:key>"
TOOL = "tools/<str:server>/<str:tool>"
urlpatterns = [
    path("servers", Servers.as_view(), name="servers"),
    path(SERVER, ServerOne.as_view(), name="server"),
    path(f"{SERVER}/sync", ServerSync.as_view(), name="server-sync"),
    path(f"{SERVER}/enable", ServerEnable.as_view(), name="server-enable"),
    path(f"{SERVER}/disable", ServerDisable.as_view(), name="server-disable"),
    path(f"{SERVER}/tools", ServerTools.as_view(), name="server-tools"),
    path(TOOL, ToolOne.as_view(), name="tool"),
    path(f"{TOOL}/approve", ToolApprove.as_view(), name="tool-approve"),
]
