"""Addresses of sources, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.jobs.sources.api import DocumentList, SourceList, SourceOne, SourceSync

SOURCE = "sources/<str:key>"
urlpatterns = [
    path("sources", SourceList.as_view(), name="sources"),
    path(SOURCE, SourceOne.as_view(), name="source"),
    path(f"{SOURCE}/sync", SourceSync.as_view(), name="source-sync"),
    path(f"{SOURCE}/documents", DocumentList.as_view(), name="source-documents"),
]
