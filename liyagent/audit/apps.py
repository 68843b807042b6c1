"""The audit room."""

from importlib import import_module

from django.apps import AppConfig

from liyagent.core.stored_times import read_any_time


class AuditConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.audit"
    label = "audit"

    def ready(self) -> None:
        """Have missions tell of the log, and a row be read whatever was made of its time."""
        read_any_time()
        import_module("liyagent.audit.timeline")
