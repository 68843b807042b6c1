"""The replays room."""

from importlib import import_module

from django.apps import AppConfig


class ReplaysConfig(AppConfig):
    """Registers the room's tables, what the job does, and what rooms below ask."""

    name = "liyagent.replays"
    label = "replays"
    verbose_name = "Cohort replays"

    def ready(self) -> None:
        """Fill the tables of the rooms below."""
        for name in ("carry", "leave", "rounds", "timeline"):
            import_module(f"liyagent.replays.{name}")
