"""The gateway's Django app."""

from importlib import import_module

from django.apps import AppConfig

from liyagent.agents.compensations import MAP_CHECKS, SUGGESTIONS
from liyagent.gateway.needed import NEEDS


class GatewayConfig(AppConfig):
    """Tool servers, their tools and the Cedar policies that judge calls."""

    name = "liyagent.gateway"
    label = "gateway"
    verbose_name = "Tool gateway"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have the deploy check look at this room too, and agents' maps of undos looked up in the catalogue."""
        import_module("liyagent.gateway.checks")
        undos = import_module("liyagent.gateway.compensations")
        MAP_CHECKS.append(undos.map_problems)
        SUGGESTIONS.append(undos.suggest_undos)
        NEEDS.append(import_module("liyagent.gateway.stale_undos").need_of)
