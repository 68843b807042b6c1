"""The routines room."""

from django.apps import AppConfig


class RoutinesConfig(AppConfig):
    """Registers the room's tables."""

    name = "routines"
    label = "routines"
    verbose_name = "Routines"
