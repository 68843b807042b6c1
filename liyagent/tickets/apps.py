"""The tickets room."""

from django.apps import AppConfig


class TicketsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.tickets"
    label = "tickets"
