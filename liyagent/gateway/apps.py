"""The gateway's Django app."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Tool servers, their tools and the Cedar policies that judge calls."""

    name = "liyagent.gateway"
    label = "gateway"
    verbose_name = "Tool gateway"
    default_auto_field = "django.db.models.BigAutoField"
