"""The events room."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """Registers the room's tables."""

    name = "events"
    label = "events"
