"""The access room."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccessConfig(AppConfig):
    """Registers the room's tables, and has the roles made where they are not."""

    name = "liyagent.access"
    label = "access"

    def ready(self) -> None:
        """The rows that roles are made of can be asked for once all rooms are loaded."""
        from liyagent.access.roles import make_roles  # noqa: PLC0415 - models, and not before

        post_migrate.connect(make_roles, sender=self, dispatch_uid="liyagent.access.roles")
