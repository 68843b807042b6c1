"""The sagas room."""

from django.apps import AppConfig


class SagasConfig(AppConfig):
    """Registers the room's tables."""

    name = "sagas"
    label = "sagas"
