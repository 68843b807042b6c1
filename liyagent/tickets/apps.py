"""The tickets room."""

from importlib import import_module

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.tickets"
    label = "tickets"

    def ready(self) -> None:
        """Have the deploy check look at this room too, and missions tell of it."""
        import_module("liyagent.tickets.checks")
        import_module("liyagent.tickets.timeline")
