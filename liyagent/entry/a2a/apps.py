"""The way a2a, as a room."""

from importlib import import_module

from django.apps import AppConfig


class A2aConfig(AppConfig):
    """Registers the tables, who tells of tasks, and what each process does for them again and again."""

    name = "liyagent.entry.a2a"
    label = "a2a"

    def ready(self) -> None:
        """Have this process tell callers of their tasks, and forget old ones."""
        import_module("liyagent.entry.a2a.rounds")
