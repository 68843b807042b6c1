"""Cron, as a room."""

from importlib import import_module

from django.apps import AppConfig


class CronConfig(AppConfig):
    """Registers the table, and what each process does for it again and again."""

    name = "liyagent.entry.cron"
    label = "cron"

    def ready(self) -> None:
        """Have each process fire what is due."""
        import_module("liyagent.entry.cron.rounds")
