"""The approvals room."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.approvals"
    label = "approvals"
