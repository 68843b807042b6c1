"""The runs room."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Registers the room's tables."""

    name = "runs"
    label = "runs"
