"""The leases room."""

from django.apps import AppConfig


class LeasesConfig(AppConfig):
    """Registers the room's tables."""

    name = "liyagent.leases"
    label = "leases"
