"""The ways in, as a room."""

from importlib import import_module

from django.apps import AppConfig


class EntryConfig(AppConfig):
    """Registers the tables, and what each process does for them again and again."""

    name = "liyagent.entry"
    label = "entry"
    verbose_name = "Ways in"

    def ready(self) -> None:
        """Have each process look for arrivals that nobody started, and for what is to be handed on; missions tell of both."""
        import_module("liyagent.entry.rounds")
        import_module("liyagent.entry.timeline")
