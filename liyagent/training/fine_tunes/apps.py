"""Fine-tuning, as a room."""

from importlib import import_module

from django.apps import AppConfig


class FineTunesConfig(AppConfig):
    """Registers the table, and what the job does."""

    name = "liyagent.training.fine_tunes"
    label = "fine_tunes"

    def ready(self) -> None:
        """Fill the table of the room below."""
        import_module("liyagent.training.fine_tunes.tune")
