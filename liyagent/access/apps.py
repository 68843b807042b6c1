"""The access room."""

from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccessConfig(AppConfig):
    """Registers the room's tables, has the roles made where they are not, and the deploy check look at more."""

    name = "liyagent.access"
    label = "access"

    def ready(self) -> None:
        """What needs the tables of other rooms is imported once they are loaded."""
        roles = import_module("liyagent.access.roles")
        post_migrate.connect(roles.make_roles, sender=self, dispatch_uid="liyagent.access.roles")
        for module in ("liyagent.core.checks", "liyagent.access.checks"):
            import_module(module)
