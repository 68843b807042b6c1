"""Classifiers, as a room."""

from importlib import import_module

from django.apps import AppConfig


class ClassifiersConfig(AppConfig):
    """Registers the tables, and what the job does."""

    name = "liyagent.training.classifiers"
    label = "classifiers"

    def ready(self) -> None:
        """Fill the table of the room below."""
        import_module("liyagent.training.classifiers.train")
