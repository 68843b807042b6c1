"""Jobs, as a room."""

from importlib import import_module

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Registers the table."""

    name = "liyagent.jobs"
    label = "jobs"

    def ready(self) -> None:
        """Have missions tell of jobs."""
        import_module("liyagent.jobs.timeline")
