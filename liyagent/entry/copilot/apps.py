"""The way copilot, as a room."""

from importlib import import_module

from django.apps import AppConfig


class CopilotConfig(AppConfig):
    """Registers the tables, and what each process does for them again and again."""

    name = "liyagent.entry.copilot"
    label = "copilot"

    def ready(self) -> None:
        """Have this process forget old conversations."""
        import_module("liyagent.entry.copilot.rounds")
