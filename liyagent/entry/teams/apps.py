"""Teams, as a room."""

from importlib import import_module

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Registers the tables, what hands answers on, and what is looked after again and again."""

    name = "liyagent.entry.teams"
    label = "teams"

    def ready(self) -> None:
        """Fill the tables of the rooms below."""
        import_module("liyagent.entry.teams.rounds")
