"""Addresses of the API's own description, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.access.schema_api import Docs, Schema

urlpatterns = [
    path("schema", Schema.as_view(), name="schema"),
    path("docs", Docs.as_view(), name="docs"),
]
