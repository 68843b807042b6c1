"""The hand-offs room."""

from django.apps import AppConfig


class HandoffsConfig(AppConfig):
    """Registers the room's tables."""

    name = "handoffs"
    label = "handoffs"
    verbose_name = "Hand-offs"
