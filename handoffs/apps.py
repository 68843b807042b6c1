"""The hand-offs room."""

from importlib import import_module

from django.apps import AppConfig


class HandoffsConfig(AppConfig):
    """Registers the room's tables."""

    name = "handoffs"
    label = "handoffs"
    verbose_name = "Hand-offs"

    def ready(self) -> None:
        """Have missions tell of it."""
        import_module("handoffs.timeline")
