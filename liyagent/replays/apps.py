"""The replays room."""

from django.apps import AppConfig


class ReplaysConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.replays"
    label = "replays"
    verbose_name = "Cohort replays"
