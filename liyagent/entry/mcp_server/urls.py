"""The address of our MCP server."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.mcp_server.api import Endpoint

urlpatterns = [path("mcp", Endpoint.as_view(), name="mcp")]
