"""Where senders call, below /hooks/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.webhooks.api import Hook

urlpatterns = [path("<str:key>", Hook.as_view(), name="hook")]
