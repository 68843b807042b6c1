"""Addresses of conversations, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.entry.copilot.api import ConversationOne, Conversations, Turns

urlpatterns = [
    path("copilot/conversations", Conversations.as_view(), name="copilot-conversations"),
    path(
        "copilot/conversations/<uuid:conversation_id>",
        ConversationOne.as_view(),
        name="copilot-conversation",
    ),
    path(
        "copilot/conversations/<uuid:conversation_id>/turns",
        Turns.as_view(),
        name="copilot-turns",
    ),
]
