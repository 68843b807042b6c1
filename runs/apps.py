"""The runs room."""

from importlib import import_module

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Registers the room's tables."""

    name = "runs"
    label = "runs"

    def ready(self) -> None:
        """Have the deploy check look at this room too."""
        import_module("runs.checks")
