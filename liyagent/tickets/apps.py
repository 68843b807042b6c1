"""The tickets room."""

from importlib import import_module

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.tickets"
    label = "tickets"

    def ready(self) -> None:
        """Have missions tell of tickets."""
        import_module("liyagent.tickets.timeline")
