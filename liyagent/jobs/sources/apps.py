"""Sources, as a room within jobs."""

from importlib import import_module

from django.apps import AppConfig


class SourcesConfig(AppConfig):
    """Registers the tables, what a sync does, and the tool that agents search by."""

    name = "liyagent.jobs.sources"
    label = "sources"

    def ready(self) -> None:
        """Fill the tables of the rooms below."""
        import_module("liyagent.jobs.sources.sync")
        import_module("liyagent.jobs.sources.tool")
