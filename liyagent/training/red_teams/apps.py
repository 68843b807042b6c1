"""Red teams, as a room."""

from importlib import import_module

from django.apps import AppConfig


class RedTeamsConfig(AppConfig):
    """Registers the table, and what the job does."""

    name = "liyagent.training.red_teams"
    label = "red_teams"
    verbose_name = "Red teams"

    def ready(self) -> None:
        """Fill the tables of the rooms below."""
        import_module("liyagent.training.red_teams.trial")
        import_module("liyagent.training.red_teams.rounds")
