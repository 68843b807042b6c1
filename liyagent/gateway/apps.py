"""The gateway's Django app."""

from importlib import import_module

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Tool servers, their tools and the Cedar policies that judge calls."""

    name = "liyagent.gateway"
    label = "gateway"
    verbose_name = "Tool gateway"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the deploy check look at this room too."""
        import_module("liyagent.gateway.checks")
