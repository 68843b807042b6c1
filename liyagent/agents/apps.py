"""The agents room."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.agents"
    label = "agents"
