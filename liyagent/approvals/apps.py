"""The approvals room."""

from importlib import import_module

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.approvals"
    label = "approvals"

    def ready(self) -> None:
        """Have the deploy check look at this room too, and missions tell of it."""
        import_module("liyagent.approvals.checks")
        import_module("liyagent.approvals.timeline")
