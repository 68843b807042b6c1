"""Addresses of API keys, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.access.api import KeyList, KeyRevoke

urlpatterns = [
    path("api-keys", KeyList.as_view(), name="key-list"),
    path("api-keys/<slug:prefix>/revoke", KeyRevoke.as_view(), name="key-revoke"),
]
