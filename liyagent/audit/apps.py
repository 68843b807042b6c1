"""The audit room."""

from importlib import import_module

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.audit"
    label = "audit"

    def ready(self) -> None:
        """Have missions tell of the log."""
        import_module("liyagent.audit.timeline")
