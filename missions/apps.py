"""The missions room."""

from django.apps import AppConfig


class MissionsConfig(AppConfig):
    """Registers the table."""

    name = "missions"
    label = "missions"
