"""The workflows room."""

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.workflows"
    label = "workflows"
