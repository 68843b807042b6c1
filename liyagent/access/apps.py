"""The access room."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.access"
    label = "access"
